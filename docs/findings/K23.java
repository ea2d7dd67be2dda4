    @Test
    public void testRollingBackEnds() {
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
        PartitionRegistration after1 = replication.getPartition(fooId, 0);
        assertEquals(List.of(2, 3, 1), Replicas.toList(after1.replicas));
        assertEquals(Set.of(3), Set.copyOf(Replicas.toList(after1.addingReplicas)));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after1.removingReplicas)));
        assertEquals(1, after1.leader);

        // 2. retarget({1})
        ControllerResult<AlterPartitionReassignmentsResponseData> result2 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(1)))))));
        assertEquals(NONE.code(),
            result2.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());
        PartitionRegistration after2 = replication.getPartition(fooId, 0);
        assertEquals(List.of(1, 2, 3), Replicas.toList(after2.replicas));
        assertEquals(Set.of(2, 3), Set.copyOf(Replicas.toList(after2.removingReplicas)));
        assertEquals(1, after2.leader);

        // every replica catches up and joins the ISR
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
                        setNewIsrWithEpochs(List.of(
                            new BrokerState().setBrokerId(1).setBrokerEpoch(ctx.currentBrokerEpoch(1)),
                            new BrokerState().setBrokerId(2).setBrokerEpoch(ctx.currentBrokerEpoch(2)),
                            new BrokerState().setBrokerId(3).setBrokerEpoch(ctx.currentBrokerEpoch(3)))))))));
        ctx.replay(joined.records());
        assertEquals(NONE_REASSIGNING, replication.listPartitionReassignments(null, Long.MAX_VALUE),
            "the reassignment goes on although every replica is in sync: " + replication.getPartition(fooId, 0));
    }
