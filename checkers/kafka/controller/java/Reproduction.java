package org.apache.kafka.controller;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.message.AlterPartitionRequestData.TopicData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData.TopicPartitions;
import org.apache.kafka.common.message.ElectLeadersRequestData.TopicPartitionsCollection;
import org.apache.kafka.common.message.ElectLeadersResponseData;
import org.apache.kafka.common.message.ListPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.timeline.SnapshotRegistry;

import static org.apache.kafka.common.protocol.Errors.NONE;

/**
 * Steps of Kafka's controller, executed by {@link ReplicationControlManager} alone: no cluster, no test classes.
 *
 * <p>The class path needs org.apache.kafka:kafka-metadata and what it needs to run, which
 * {@code mvn dependency:build-classpath -DincludeScope=runtime} lists, and this file compiled. Exit code 0: every
 * assertion holds; else the stack trace says which one fails, or what the controller threw.
 */
public final class Reproduction {
    private static final ListPartitionReassignmentsResponseData NONE_REASSIGNING =
        new ListPartitionReassignmentsResponseData().setErrorMessage(null);

    public static void main(String[] arguments) {
        // STEPS
        System.out.println("every assertion holds");
    }

    private static void assertEquals(Object expected, Object actual) {
        assertEquals(expected, actual, "");
    }

    private static void assertEquals(Object expected, Object actual, String message) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError(message + (message.isEmpty() ? "" : " ==> ")
                + "expected: <" + expected + "> but was: <" + actual + ">");
        }
    }

    private static void assertNotEquals(Object unexpected, Object actual, String message) {
        if (Objects.equals(unexpected, actual)) {
            throw new AssertionError(message + " ==> expected: not equal but was: <" + actual + ">");
        }
    }

    private static void assertFalse(boolean holds, String message) {
        assertTrue(!holds, message);
    }

    private static void assertTrue(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }

    private static long defaultBrokerEpoch(int id) {
        return id + 100;
    }

    private static ControllerRequestContext anonymousContextFor(ApiKeys key) {
        return anonymousContextFor(key, key.latestVersion());
    }

    private static ControllerRequestContext anonymousContextFor(ApiKeys key, short version) {
        RequestHeaderData header = new RequestHeaderData().
            setRequestApiKey(key.id).
            setRequestApiVersion(version);
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    /** The answer of {@link ReplicationControlTestContext#createTestTopic}. */
    private record CreatedTopic(Uuid topicId) { }

    /** A controller with its helpers, named as in Kafka's own test of the class; records are replayed at once. */
    private static final class ReplicationControlTestContext {
        private static final String ELR_FEATURE = "eligible.leader.replicas.version";
        private static final List<String> CONFIGURATIONS =
            List.of("min.insync.replicas", "unclean.leader.election.enable");

        private final FeatureControlManager features;
        private final ClusterControlManager cluster;
        private final ConfigurationControlManager configurationControl;
        private final ReplicationControlManager replicationControl;

        private ReplicationControlTestContext(boolean elrEnabled) {
            SnapshotRegistry snapshots = snapshotRegistry();
            Method setMetadataVersion = method(FeatureControlManager.Builder.class, "setMetadataVersion");
            Method setElrEnabled = method(ReplicationControlManager.Builder.class, "setEligibleLeaderReplicasEnabled");
            // In 3.9 the eligible leader replicas are there with the newest version for testing only.
            MetadataVersion version =
                setElrEnabled != null ? MetadataVersion.latestTesting() : MetadataVersion.latestProduction();
            FeatureControlManager.Builder featuresBuilder = new FeatureControlManager.Builder().
                setSnapshotRegistry(snapshots).
                setQuorumFeatures(new QuorumFeatures(0, Map.of(
                    MetadataVersion.FEATURE_NAME, VersionRange.of((short) 1, Short.MAX_VALUE),
                    ELR_FEATURE, VersionRange.of((short) 0, (short) 1)), List.of(0)));
            call(setMetadataVersion, featuresBuilder, version);
            features = featuresBuilder.build();
            ConfigurationControlManager.Builder configurationBuilder = new ConfigurationControlManager.Builder().
                setSnapshotRegistry(snapshots).
                setKafkaConfigSchema(schema());
            Method setFeatures = method(ConfigurationControlManager.Builder.class, "setFeatureControl");
            call(setFeatures, configurationBuilder, features);
            configurationControl = configurationBuilder.build();
            ClusterControlManager.Builder clusterBuilder = new ClusterControlManager.Builder().
                setClusterId("reproduction").
                setSnapshotRegistry(snapshots).
                setReplicaPlacer(new StripedReplicaPlacer(new Random(0))).
                setFeatureControlManager(features);
            ignoreShutdowns(clusterBuilder);
            cluster = clusterBuilder.build();
            ReplicationControlManager.Builder replicationBuilder = new ReplicationControlManager.Builder().
                setSnapshotRegistry(snapshots).
                setConfigurationControl(configurationControl).
                setClusterControl(cluster).
                setFeatureControl(features);
            call(setElrEnabled, replicationBuilder, elrEnabled);
            replicationControl = replicationBuilder.build();
            cluster.activate();
            if (setMetadataVersion == null) {
                features.replay(new FeatureLevelRecord().
                    setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(version.featureLevel()));
            }
            if (setElrEnabled == null) {
                features.replay(new FeatureLevelRecord().
                    setName(ELR_FEATURE).setFeatureLevel((short) (elrEnabled ? 1 : 0)));
            }
        }

        private static final class Builder {
            private boolean elrEnabled;

            private Builder setIsElrEnabled(boolean enabled) {
                elrEnabled = enabled;
                return this;
            }

            private ReplicationControlTestContext build() {
                return new ReplicationControlTestContext(elrEnabled);
            }
        }

        private void registerBrokers(int... ids) {
            for (int id : ids) {
                registerBrokersWithDirs(id, List.of(directory(id)));
            }
        }

        /** Brokers by turns with their directories. */
        @SuppressWarnings("unchecked")
        private void registerBrokersWithDirs(Object... idsAndDirectories) {
            for (int i = 0; i < idsAndDirectories.length; i += 2) {
                int id = (int) idsAndDirectories[i];
                RegisterBrokerRecord record = new RegisterBrokerRecord().
                    setBrokerId(id).
                    setBrokerEpoch(defaultBrokerEpoch(id)).
                    setLogDirs((List<Uuid>) idsAndDirectories[i + 1]);
                replay(List.of(new ApiMessageAndVersion(record, (short) 3)));
            }
        }

        private void unfenceBrokers(int... ids) {
            for (int id : ids) {
                List<ApiMessageAndVersion> records = new ArrayList<>();
                replicationControl.handleBrokerUnfenced(id, currentBrokerEpoch(id), records);
                replay(records);
            }
        }

        private long currentBrokerEpoch(int id) {
            return cluster.brokerRegistrations().get(id).epoch();
        }

        private CreatedTopic createTestTopic(String name, int[][] replicas) {
            Uuid id = new Uuid(1L, 1L);
            replay(List.of(new ApiMessageAndVersion(new TopicRecord().setName(name).setTopicId(id), (short) 0)));
            for (int partition = 0; partition < replicas.length; partition++) {
                List<Integer> ids = Replicas.toList(replicas[partition]);
                List<Uuid> directories = ids.stream().map(ReplicationControlTestContext::directory).toList();
                PartitionRecord record = new PartitionRecord().
                    setTopicId(id).
                    setPartitionId(partition).
                    setReplicas(ids).
                    setIsr(ids).
                    setDirectories(directories).
                    setLeader(ids.get(0)).
                    setLeaderEpoch(0).
                    setPartitionEpoch(0);
                replay(List.of(new ApiMessageAndVersion(record, (short) 2)));
            }
            return new CreatedTopic(id);
        }

        private void alterTopicConfig(String topic, String key, String value) {
            configurationControl.replay(new ConfigRecord().
                setResourceType(ConfigResource.Type.TOPIC.id()).
                setResourceName(topic).
                setName(key).
                setValue(value));
        }

        private void alterPartition(
            TopicIdPartition partition, int leader, List<BrokerState> isr, LeaderRecoveryState recovery
        ) {
            PartitionRegistration now = replicationControl.getPartition(partition.topicId(), partition.partitionId());
            replay(replicationControl.alterPartition(
                anonymousContextFor(ApiKeys.ALTER_PARTITION),
                new AlterPartitionRequestData().
                    setBrokerId(leader).
                    setBrokerEpoch(currentBrokerEpoch(leader)).
                    setTopics(List.of(new TopicData().setTopicId(partition.topicId()).setPartitions(List.of(
                        new PartitionData().
                            setPartitionIndex(partition.partitionId()).
                            setLeaderEpoch(now.leaderEpoch).
                            setPartitionEpoch(now.partitionEpoch).
                            setLeaderRecoveryState(recovery.value()).
                            setNewIsrWithEpochs(isr)))))).records());
        }

        private void replay(List<ApiMessageAndVersion> records) {
            for (ApiMessageAndVersion record : records) {
                ApiMessage message = record.message();
                if (message instanceof PartitionChangeRecord change) {
                    replicationControl.replay(change);
                } else if (message instanceof PartitionRecord partition) {
                    replicationControl.replay(partition);
                } else if (message instanceof TopicRecord topic) {
                    replicationControl.replay(topic);
                } else if (message instanceof RegisterBrokerRecord broker) {
                    cluster.replay(broker, 0L);
                } else if (message instanceof BrokerRegistrationChangeRecord broker) {
                    cluster.replay(broker);
                } else if (message instanceof ConfigRecord configured) {
                    configurationControl.replay(configured);
                } else {
                    call(replay(message), replicationControl, message);
                }
            }
        }

        private static Uuid directory(int id) {
            return Uuid.fromString(String.format("TESTBROKER%05dDIRAAAA", id));
        }

        private static KafkaConfigSchema schema() {
            Map<ConfigResource.Type, ConfigDef> definitions = new HashMap<>();
            for (ConfigResource.Type type : List.of(ConfigResource.Type.BROKER, ConfigResource.Type.TOPIC)) {
                definitions.put(type, new ConfigDef().
                    define(CONFIGURATIONS.get(0), ConfigDef.Type.INT, "1", ConfigDef.Importance.HIGH, "").
                    define(CONFIGURATIONS.get(1), ConfigDef.Type.BOOLEAN, "false", ConfigDef.Importance.HIGH, ""));
            }
            Map<String, List<ConfigSynonym>> synonyms = new HashMap<>();
            for (String key : CONFIGURATIONS) {
                synonyms.put(key, List.of(new ConfigSynonym(key)));
            }
            return new KafkaConfigSchema(definitions, synonyms);
        }

        // What differs between releases is reached by reflection.

        private static SnapshotRegistry snapshotRegistry() {
            try {
                Constructor<?> constructor = SnapshotRegistry.class.getConstructors()[0];
                Object logContext = constructor.getParameterTypes()[0].getConstructor().newInstance();
                return (SnapshotRegistry) constructor.newInstance(logContext);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Of a message that a release may not have, such as ClearElrRecord before 4.0. */
        private static Method replay(ApiMessage message) {
            for (Method method : ReplicationControlManager.class.getMethods()) {
                if (method.getName().equals("replay") && method.getParameterTypes()[0] == message.getClass()) {
                    return method;
                }
            }
            throw new IllegalStateException("no use for " + message);
        }

        private static void ignoreShutdowns(ClusterControlManager.Builder builder) {
            Method setter = method(ClusterControlManager.Builder.class, "setBrokerShutdownHandler");
            if (setter == null) {
                setter = method(ClusterControlManager.Builder.class, "setBrokerUncleanShutdownHandler");
            }
            Class<?> handler = setter.getParameterTypes()[0];
            ClassLoader loader = handler.getClassLoader();
            Class<?>[] handlers = {handler};
            call(setter, builder, Proxy.newProxyInstance(loader, handlers, (self, called, arguments) -> null));
        }

        private static Method method(Class<?> owner, String name) {
            for (Method method : owner.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isSynthetic()) {
                    method.setAccessible(true);
                    return method;
                }
            }
            return null;
        }

        /** Calls a method; nothing where the release does not have it. */
        private static void call(Method method, Object owner, Object argument) {
            try {
                if (method != null) {
                    method.invoke(owner, argument);
                }
            } catch (IllegalAccessException | InvocationTargetException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
