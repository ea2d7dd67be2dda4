    @Test
    public void testNothingLostByACompletion() {
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

        // 1. start({2, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result1 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2, 3)))))));
        assertEquals(NONE.code(),
            result1.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result1.records());

        // 2. alter_partition(from 1, ISR {1, 3}, epochs 0 and 1)
        ControllerResult<AlterPartitionResponseData> result2 = replication.alterPartition(
            anonymousContextFor(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(1).
                setBrokerEpoch(ctx.currentBrokerEpoch(1)).
                setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(
                    new PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(replication.getPartition(fooId, 0).leaderEpoch).
                        setPartitionEpoch(replication.getPartition(fooId, 0).partitionEpoch).
                        setNewIsrWithEpochs(List.of(
                            new BrokerState().setBrokerId(1).setBrokerEpoch(ctx.currentBrokerEpoch(1)),
                            new BrokerState().setBrokerId(3).setBrokerEpoch(ctx.currentBrokerEpoch(3)))))))));
        assertTrue(Set.of(NONE.code(), org.apache.kafka.common.protocol.Errors.NEW_LEADER_ELECTED.code()).contains(
            result2.response().topics().get(0).partitions().get(0).errorCode()),
            "the ISR is refused");
        ctx.replay(result2.records());
        boolean removed = !Replicas.toList(replication.getPartition(fooId, 0).replicas).contains(1);

        // 3. start({1, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result3 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1, 3)))))));
        assertEquals(NONE.code(),
            result3.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result3.records());

        // 4. fence(3)
        List<ApiMessageAndVersion> records4 = new ArrayList<>();
        replication.handleBrokerFenced(3, records4);
        ctx.replay(records4);

        assertFalse(removed && replication.getPartition(fooId, 0).leader == 1,
            "broker 1 was no replica, has deleted its log, and leads without what was committed: "
                + replication.getPartition(fooId, 0));
    }
