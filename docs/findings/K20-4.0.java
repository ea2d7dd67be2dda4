    @Test
    public void testNothingLostByACancellation() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. fence(1)
        List<ApiMessageAndVersion> records1 = new ArrayList<>();
        replication.handleBrokerFenced(1, records1);
        ctx.replay(records1);

        // 2. start({1, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result2 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1, 3)))))));
        assertEquals(NONE.code(),
            result2.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());

        // 3. alter_partition(from 2, ISR {2, 3}, epochs 1 and 2)
        ControllerResult<AlterPartitionResponseData> result3 = replication.alterPartition(
            anonymousContextFor(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(2).
                setBrokerEpoch(ctx.currentBrokerEpoch(2)).
                setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(
                    new PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(replication.getPartition(fooId, 0).leaderEpoch).
                        setPartitionEpoch(replication.getPartition(fooId, 0).partitionEpoch).
                        setNewIsrWithEpochs(List.of(
                            new BrokerState().setBrokerId(2).setBrokerEpoch(ctx.currentBrokerEpoch(2)),
                            new BrokerState().setBrokerId(3).setBrokerEpoch(ctx.currentBrokerEpoch(3)))))))));
        assertTrue(Set.of(NONE.code(), org.apache.kafka.common.protocol.Errors.NEW_LEADER_ELECTED.code()).contains(
            result3.response().topics().get(0).partitions().get(0).errorCode()),
            "the ISR is refused");
        ctx.replay(result3.records());

        // 4. cancel()
        ControllerResult<AlterPartitionReassignmentsResponseData> result4 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(null))))));
        assertEquals(NONE.code(),
            result4.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result4.records());
        boolean removed = !Replicas.toList(replication.getPartition(fooId, 0).replicas).contains(3);

        // 5. start({2, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result5 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2, 3)))))));
        assertEquals(NONE.code(),
            result5.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result5.records());

        // 6. fence(2)
        List<ApiMessageAndVersion> records6 = new ArrayList<>();
        replication.handleBrokerFenced(2, records6);
        ctx.replay(records6);

        assertFalse(removed && replication.getPartition(fooId, 0).leader == 3,
            "broker 3 was no replica, has deleted its log, and leads without what was committed: "
                + replication.getPartition(fooId, 0));
    }
