    @Test
    public void testRollingBackEnds() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
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

        // 2. retarget({1, 2})
        ControllerResult<AlterPartitionReassignmentsResponseData> result2 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1, 2)))))));
        assertEquals(NONE.code(),
            result2.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());

        // every replica catches up and joins the ISR
        List<BrokerState> everyReplica = Replicas.toList(replication.getPartition(fooId, 0).replicas).stream().map(id ->
            new BrokerState().setBrokerId(id).setBrokerEpoch(ctx.currentBrokerEpoch(id))).toList();
        ControllerResult<AlterPartitionResponseData> joined = replication.alterPartition(
            anonymousContextFor(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(replication.getPartition(fooId, 0).leader).
                setBrokerEpoch(ctx.currentBrokerEpoch(replication.getPartition(fooId, 0).leader)).
                setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(
                    new PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(replication.getPartition(fooId, 0).leaderEpoch).
                        setPartitionEpoch(replication.getPartition(fooId, 0).partitionEpoch).
                        setNewIsrWithEpochs(everyReplica))))));
        ctx.replay(joined.records());
        PartitionRegistration end = replication.getPartition(fooId, 0);
        assertEquals(Set.copyOf(Replicas.toList(end.replicas)), Set.copyOf(Replicas.toList(end.isr)),
            "a replica is not in sync: " + end);
        assertEquals(NONE_REASSIGNING, replication.listPartitionReassignments(null, Long.MAX_VALUE),
            "the reassignment goes on although every replica is in sync: " + end);
    }
