    @Test
    public void testABrokerThatRegisteredAnewDoesNotJoinByAnEarlierRequest() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2);
        ctx.unfenceBrokers(1, 2);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();

        // 1. 2 dies, is started again, and its session ends: it leaves the ISR
        List<ApiMessageAndVersion> records1 = new ArrayList<>();
        replication.handleBrokerFenced(2, records1);
        ctx.replay(records1);

        // 2. the leader takes its fetch with epoch -1, and makes the request below: it is on its way
        PartitionRegistration before = replication.getPartition(fooId, 0);
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(before.isr)));

        // 3. 2 dies again and loses what it had not written to the disk; it registers anew and is unfenced
        long epochBefore = ctx.currentBrokerEpoch(2);
        ctx.replay(List.of(new ApiMessageAndVersion(new RegisterBrokerRecord().
            setBrokerId(2).
            setBrokerEpoch(epochBefore + 100).
            setLogDirs(List.of(Uuid.fromString("TESTBROKER00002DIRAAAA"))), (short) 3)));
        List<ApiMessageAndVersion> records3 = new ArrayList<>();
        replication.handleBrokerUnfenced(2, epochBefore + 100, records3);
        ctx.replay(records3);

        // 4. the request arrives; the partition has not changed since it was made
        ControllerResult<AlterPartitionResponseData> result4 = replication.alterPartition(
            anonymousContextFor(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(1).
                setBrokerEpoch(ctx.currentBrokerEpoch(1)).
                setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(
                    new PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(before.leaderEpoch).
                        setPartitionEpoch(before.partitionEpoch).
                        setNewIsrWithEpochs(List.of(
                            new BrokerState().setBrokerId(1).setBrokerEpoch(ctx.currentBrokerEpoch(1)),
                            new BrokerState().setBrokerId(2).setBrokerEpoch(-1))))))));
        ctx.replay(result4.records());
        assertEquals(Set.of(1), Set.copyOf(Replicas.toList(replication.getPartition(fooId, 0).isr)));
        assertEquals(INELIGIBLE_REPLICA.code(),
            result4.response().topics().get(0).partitions().get(0).errorCode());
    }
