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

        // 2. fence(1)
        List<ApiMessageAndVersion> records2 = new ArrayList<>();
        replication.handleBrokerFenced(1, records2);
        ctx.replay(records2);

        // 3. cancel()
        ControllerResult<AlterPartitionReassignmentsResponseData> result3 =
            replication.alterPartitionReassignments(
                new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                    new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(null))))));
        assertEquals(NONE.code(),
            result3.response().responses().get(0).partitions().get(0).errorCode());
        ctx.replay(result3.records());

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
