    @Test
    public void testRetargetReplacesTheTarget() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2, 3}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. fence(3)
        List<ApiMessageAndVersion> records1 = new ArrayList<>();
        replication.handleBrokerFenced(3, records1);
        ctx.replay(records1);

        // 2. start({2, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result2 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2, 3)))))));
        assertEquals(NONE.code(),
            result2.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());

        // 3. retarget({1, 2, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result3 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1, 2, 3)))))));
        assertEquals(NONE.code(),
            result3.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result3.records());

        PartitionRegistration end = replication.getPartition(fooId, 0);
        Set<Integer> kept = new java.util.HashSet<>(Replicas.toList(end.replicas));
        kept.removeAll(Replicas.toList(end.removingReplicas));
        assertEquals(Set.of(1, 2, 3), kept,
            "the reassignment leads elsewhere than it was asked to: " + end);
    }
