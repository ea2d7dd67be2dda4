    @Test
    public void testLeaderHasWhatWasAcknowledged() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2);
        ctx.unfenceBrokers(1, 2);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "1");

        // 1. fence(1)
        List<ApiMessageAndVersion> records1 = new ArrayList<>();
        replication.handleBrokerFenced(1, records1);
        ctx.replay(records1);

        // 2. register(1), which has lost the records that it had fetched
        List<ApiMessageAndVersion> records2 = new ArrayList<>();
        // what ClusterControlManager.registerBroker calls, and the record that it adds
        replication.handleBrokerShutdown(1, false, records2);
        ctx.replay(records2);
        ctx.replay(List.of(new ApiMessageAndVersion(new RegisterBrokerRecord().
            setBrokerId(1).
            setBrokerEpoch(ctx.currentBrokerEpoch(1) + 1).
            setLogDirs(List.of(Uuid.fromString("TESTBROKER00001DIRAAAA"))), (short) 3)));

        // 3. unfence(1)
        List<ApiMessageAndVersion> records3 = new ArrayList<>();
        replication.handleBrokerUnfenced(1, ctx.currentBrokerEpoch(1), records3);
        ctx.replay(records3);

        // 4. alter_partition({1, 2}), without their epochs
        ControllerResult<AlterPartitionResponseData> result4 = replication.alterPartition(
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
                            new BrokerState().setBrokerId(1).setBrokerEpoch(-1),
                            new BrokerState().setBrokerId(2).setBrokerEpoch(ctx.currentBrokerEpoch(2)))))))));
        ctx.replay(result4.records());

        // 5. fence(2)
        List<ApiMessageAndVersion> records5 = new ArrayList<>();
        replication.handleBrokerFenced(2, records5);
        ctx.replay(records5);

        assertNotEquals(1, replication.getPartition(fooId, 0).leader,
            "broker 1 lost records before it registered anew, and leads: " + replication.getPartition(fooId, 0));
    }
