    @Test
    public void testBrokerEventsAreCarriedOut() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2);
        ctx.unfenceBrokers(1, 2);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "1");
        ctx.alterTopicConfig("foo", "unclean.leader.election.enable", "true");

        // 1. start({2})
        ControllerResult<AlterPartitionReassignmentsResponseData> result1 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(2)))))));
        assertEquals(NONE.code(),
            result1.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result1.records());
        PartitionRegistration after1 = replication.getPartition(fooId, 0);
        assertEquals(List.of(2, 1), Replicas.toList(after1.replicas));
        assertEquals(Set.of(2), Set.copyOf(Replicas.toList(after1.addingReplicas)));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after1.removingReplicas)));
        assertEquals(1, after1.leader);

        // 2. fence(1)
        List<ApiMessageAndVersion> records2 = new ArrayList<>();
        replication.handleBrokerFenced(1, records2);
        ctx.replay(records2);
        PartitionRegistration after2 = replication.getPartition(fooId, 0);
        assertEquals(Set.of(2), Set.copyOf(Replicas.toList(after2.isr)));
        assertEquals(2, after2.leader);
        assertEquals(LeaderRecoveryState.RECOVERING, after2.leaderRecoveryState);

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
        assertEquals(List.of(1), Replicas.toList(after3.replicas));
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(after3.isr)));
        assertEquals(Set.of(), Set.copyOf(Replicas.toList(after3.addingReplicas)));
        assertEquals(Set.of(), Set.copyOf(Replicas.toList(after3.removingReplicas)));
        assertEquals(-1, after3.leader);

        // 4. shut_down_uncleanly(1)
        List<ApiMessageAndVersion> records4 = new ArrayList<>();
        // what ClusterControlManager.registerBroker calls, and the record that it adds
        replication.handleBrokerShutdown(1, false, records4);
        ctx.replay(records4);
        ctx.replay(List.of(new ApiMessageAndVersion(new RegisterBrokerRecord().
            setBrokerId(1).
            setBrokerEpoch(ctx.currentBrokerEpoch(1) + 1).
            setLogDirs(List.of(Uuid.fromString("TESTBROKER00001DIRAAAA"))), (short) 3)));
    }
