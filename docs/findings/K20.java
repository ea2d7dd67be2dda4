    @Test
    public void testNothingLostByACancellation() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3, 4);
        ctx.unfenceBrokers(1, 2, 3, 4);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterPartition(new TopicIdPartition(fooId, 0), 1,
            List.of(new BrokerState().setBrokerId(1).setBrokerEpoch(ctx.currentBrokerEpoch(1))),
            LeaderRecoveryState.RECOVERED);
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. start({2, 3, 4})
        ControllerResult<AlterPartitionReassignmentsResponseData> result1 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2, 3, 4)))))));
        assertEquals(NONE.code(),
            result1.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result1.records());
        PartitionRegistration after1 = replication.getPartition(fooId, 0);
        assertEquals(List.of(2, 3, 4, 1), Replicas.toList(after1.replicas));
        assertEquals(Set.of(3, 4), Set.copyOf(Replicas.toList(after1.addingReplicas)));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after1.removingReplicas)));
        assertEquals(1, after1.leader);

        // 2. alter_partition(from 1, ISR {1, 3}, epochs 0 and 1)
        ControllerResult<AlterPartitionResponseData> result2 = replication.alterPartition(
            anonymousContextFor(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(1).
                setBrokerEpoch(defaultBrokerEpoch(1)).
                setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(
                    new PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(0).
                        setPartitionEpoch(2).
                        setNewIsrWithEpochs(List.of(
                            new BrokerState().setBrokerId(1).setBrokerEpoch(defaultBrokerEpoch(1)),
                            new BrokerState().setBrokerId(3).setBrokerEpoch(defaultBrokerEpoch(3)))))))));
        assertEquals(NONE.code(),
            result2.response().topics().get(0).partitions().get(0).errorCode());
        ctx.replay(result2.records());
        PartitionRegistration after2 = replication.getPartition(fooId, 0);
        assertEquals(Set.of(1, 3), Set.copyOf(Replicas.toList(after2.isr)));
        assertEquals(1, after2.leader);

        // 3. cancel()
        ControllerResult<AlterPartitionReassignmentsResponseData> result3 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(null))))));
        assertEquals(NONE.code(),
            result3.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result3.records());
        PartitionRegistration after3 = replication.getPartition(fooId, 0);
        assertEquals(List.of(2, 1), Replicas.toList(after3.replicas));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after3.isr)));
        assertEquals(Set.of(3), Set.copyOf(Replicas.toList(after3.elr)));
        assertEquals(Set.of(), Set.copyOf(Replicas.toList(after3.addingReplicas)));
        assertEquals(Set.of(), Set.copyOf(Replicas.toList(after3.removingReplicas)));
        assertEquals(1, after3.leader);

        // 4. start({2, 3})
        ControllerResult<AlterPartitionReassignmentsResponseData> result4 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2, 3)))))));
        assertEquals(NONE.code(),
            result4.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result4.records());
        PartitionRegistration after4 = replication.getPartition(fooId, 0);
        assertEquals(List.of(2, 3, 1), Replicas.toList(after4.replicas));
        assertEquals(Set.of(3), Set.copyOf(Replicas.toList(after4.addingReplicas)));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after4.removingReplicas)));
        assertEquals(1, after4.leader);

        // 5. fence(1)
        List<ApiMessageAndVersion> records5 = new ArrayList<>();
        replication.handleBrokerFenced(1, records5);
        ctx.replay(records5);
        PartitionRegistration after5 = replication.getPartition(fooId, 0);
        assertEquals(Set.of(3), Set.copyOf(Replicas.toList(after5.isr)));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after5.elr)));
        assertEquals(3, after5.leader);

        assertNotEquals(3, replication.getPartition(fooId, 0).leader,
            "broker 3 was no replica, has deleted its log, and leads without what was committed");
    }
