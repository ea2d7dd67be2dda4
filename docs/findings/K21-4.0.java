    @Test
    public void testNothingLostByACompletion() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. start({1})
        ControllerResult<AlterPartitionReassignmentsResponseData> result1 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1)))))));
        assertEquals(NONE.code(),
            result1.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result1.records());

        // 2. fence(1)
        List<ApiMessageAndVersion> records2 = new ArrayList<>();
        replication.handleBrokerFenced(1, records2);
        ctx.replay(records2);

        // 3. fence(2)
        List<ApiMessageAndVersion> records3 = new ArrayList<>();
        replication.handleBrokerFenced(2, records3);
        ctx.replay(records3);
        boolean removed = !Replicas.toList(replication.getPartition(fooId, 0).replicas).contains(2);

        // 4. start({2})
        ControllerResult<AlterPartitionReassignmentsResponseData> result4 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2)))))));
        assertEquals(NONE.code(),
            result4.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result4.records());

        // 5. unfence(2)
        List<ApiMessageAndVersion> records5 = new ArrayList<>();
        replication.handleBrokerUnfenced(2, ctx.currentBrokerEpoch(2), records5);
        ctx.replay(records5);

        assertFalse(removed && replication.getPartition(fooId, 0).leader == 2,
            "broker 2 was no replica, has deleted its log, and leads without what was committed: "
                + replication.getPartition(fooId, 0));
    }
