    @Test
    public void testRetargetReplacesTheTarget() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterPartition(new TopicIdPartition(fooId, 0), 1,
            List.of(new BrokerState().setBrokerId(1).setBrokerEpoch(ctx.currentBrokerEpoch(1))),
            LeaderRecoveryState.RECOVERED);
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. start({2})
        ControllerResult<AlterPartitionReassignmentsResponseData> result1 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2)))))));
        assertEquals(NONE.code(),
            result1.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result1.records());

        // 2. retarget({1, 2})
        ControllerResult<AlterPartitionReassignmentsResponseData> result2 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1, 2)))))));
        assertEquals(NONE.code(),
            result2.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());

        PartitionRegistration end = replication.getPartition(fooId, 0);
        Set<Integer> kept = new java.util.HashSet<>(Replicas.toList(end.replicas));
        kept.removeAll(Replicas.toList(end.removingReplicas));
        assertEquals(Set.of(1, 2), kept,
            "the reassignment leads elsewhere than it was asked to: " + end);
    }
