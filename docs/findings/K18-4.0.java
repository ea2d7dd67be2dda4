    @Test
    public void testChangedMinIsrLeavesWhoMayLead() {
        ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().
            setIsElrEnabled(true).
            build();
        ReplicationControlManager replication = ctx.replicationControl;
        ctx.registerBrokers(1, 2, 3);
        ctx.unfenceBrokers(1, 2, 3);
        Uuid fooId = ctx.createTestTopic("foo", new int[][] {new int[] {1, 2}}).topicId();
        ctx.alterTopicConfig("foo", "min.insync.replicas", "2");

        // 1. fence(2)
        List<ApiMessageAndVersion> records1 = new ArrayList<>();
        replication.handleBrokerFenced(2, records1);
        ctx.replay(records1);

        // 2. fence(1)
        List<ApiMessageAndVersion> records2 = new ArrayList<>();
        replication.handleBrokerFenced(1, records2);
        ctx.replay(records2);

        // 3. change_min_isr(1)
        ctx.replay(ctx.configurationControl.incrementalAlterConfigs(
            Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "foo"),
                Map.of("min.insync.replicas", Map.entry(AlterConfigOp.OpType.SET, "1"))),
            false).records());

        // the brokers with every committed record return: 1, 2
        List<ApiMessageAndVersion> recordsOf1 = new ArrayList<>();
        replication.handleBrokerUnfenced(1, ctx.currentBrokerEpoch(1), recordsOf1);
        ctx.replay(recordsOf1);
        List<ApiMessageAndVersion> recordsOf2 = new ArrayList<>();
        replication.handleBrokerUnfenced(2, ctx.currentBrokerEpoch(2), recordsOf2);
        ctx.replay(recordsOf2);
        assertNotEquals(-1, replication.getPartition(fooId, 0).leader,
            "brokers with every committed record are back, and nobody leads: " + replication.getPartition(fooId, 0));
    }
