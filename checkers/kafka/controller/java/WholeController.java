package org.apache.kafka.controller;

import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.DuplicateBrokerRegistrationException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.PartitionRegistration;

/**
 * A run of commands on the whole {@link QuorumController}, with the raft client that Kafka's own tests use: threads, real
 * time, sessions that expire. One argument a command: {@code reassign 2,1}, {@code cancel}, {@code propose 1,2},
 * {@code fence 1}, {@code unfence 1}, {@code restart_uncleanly 1}, {@code restart_cleanly 1}, {@code configure KEY VALUE}.
 * Before them: brokers, min.insync.replicas, the replicas to begin with, and whether unclean election is allowed.
 *
 * <p>Prints a line for each: the error or exception, the partition, the epoch of the active controller.
 */
public final class WholeController {
    private static final long SESSION_MS = 1000;
    private static final String TOPIC = "watched";

    private final QuorumControllerTestEnv environment;
    private final Map<Integer, Long> epochs = new HashMap<>();
    private final Map<Integer, Integer> incarnations = new HashMap<>();
    private final Set<Integer> alive = ConcurrentHashMap.newKeySet();
    private final Thread heart = new Thread(this::beat, "heartbeats");
    private Uuid topic;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        int brokers = Integer.parseInt(arguments[0]);
        WholeController run = new WholeController(brokers);
        run.begin(arguments[1], ids(arguments[2]), Boolean.parseBoolean(arguments[3]));
        out.println("begin\t" + run.shown());
        for (String command : Arrays.copyOfRange(arguments, 4, arguments.length)) {
            String answer;
            try {
                answer = run.take(command.split(" "));
            } catch (ExecutionException e) {
                answer = e.getCause().getClass().getSimpleName() + ": " + e.getCause().getMessage();
            }
            out.println(answer.replace('\n', ' ') + "\t" + run.shown());
            out.flush();
        }
        Runtime.getRuntime().halt(0); // whatever faults there were have been told
    }

    private WholeController(int brokers) throws Exception {
        this.environment = builder(logEnvironment()).setSessionTimeoutMillis(OptionalLong.of(SESSION_MS)).build();
        environment.ignoreFatalFaults();
        for (int id = 1; id <= brokers; id++) {
            register(id, -1L);
            heartbeat(id, false);
        }
        heart.setDaemon(true);
        heart.start();
    }

    /** The raft client of the tests has another class from 4.2 on. */
    private static AutoCloseable logEnvironment() throws Exception {
        Class<?> builder;
        try {
            builder = Class.forName("org.apache.kafka.controller.MockRaftClientTestEnv$Builder");
        } catch (ClassNotFoundException e) {
            builder = Class.forName("org.apache.kafka.metalog.LocalLogManagerTestEnv$Builder");
        }
        Object made = builder.getConstructor(int.class).newInstance(1);
        Method build = builder.getMethod("build");
        return (AutoCloseable) build.invoke(made);
    }

    private static QuorumControllerTestEnv.Builder builder(AutoCloseable log) throws Exception {
        return (QuorumControllerTestEnv.Builder) QuorumControllerTestEnv.Builder.class.getConstructors()[0].newInstance(log);
    }

    private void begin(String minIsr, List<Integer> replicas, boolean unclean) throws Exception {
        CreateTopicsRequestData.CreatableTopic wanted = new CreateTopicsRequestData.CreatableTopic().
            setName(TOPIC).setNumPartitions(-1).setReplicationFactor((short) -1);
        wanted.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().
            setPartitionIndex(0).setBrokerIds(replicas));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(wanted);
        var created = (CreateTopicsResponseData) ask("createTopics", context(ApiKeys.CREATE_TOPICS), request, Set.of(TOPIC));
        topic = created.topics().find(TOPIC).topicId();
        configure("min.insync.replicas", minIsr);
        configure("unclean.leader.election.enable", Boolean.toString(unclean));
    }

    private void configure(String key, String value) throws Exception {
        var change = new java.util.AbstractMap.SimpleImmutableEntry<>(
            org.apache.kafka.clients.admin.AlterConfigOp.OpType.SET, value);
        ask(
            "incrementalAlterConfigs",
            context(ApiKeys.INCREMENTAL_ALTER_CONFIGS),
            Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC), Map.of(key, change)),
            false);
    }

    /** Calls a method that has one more argument, a switch, in later releases. */
    private Object ask(String name, Object... arguments) throws Exception {
        for (Method method : QuorumController.class.getMethods()) {
            if (method.getName().equals(name) && !method.isBridge()) {
                Object[] given = Arrays.copyOf(arguments, method.getParameterCount());
                Arrays.fill(given, Math.min(arguments.length, given.length), given.length, false);
                return ((CompletableFuture<?>) method.invoke(active(), given)).get();
            }
        }
        throw new IllegalStateException("no " + name);
    }

    private String take(String[] words) throws Exception {
        switch (words[0]) {
            case "reassign":
                return reassign(ids(words[1]));
            case "cancel":
                return reassign(null);
            case "propose":
                return propose(ids(words[1]));
            case "configure":
                configure(words[1], words[2]);
                return "NONE";
            case "fence":
                alive.remove(Integer.parseInt(words[1]));
                heartbeat(Integer.parseInt(words[1]), true);
                return "NONE";
            case "unfence":
                heartbeat(Integer.parseInt(words[1]), false);
                return "NONE";
            case "restart_uncleanly":
                return restart(Integer.parseInt(words[1]), -1L);
            case "restart_cleanly":
                return restart(Integer.parseInt(words[1]), epochs.get(Integer.parseInt(words[1])));
            default:
                throw new IllegalArgumentException("no command " + words[0]);
        }
    }

    private String reassign(List<Integer> target) throws Exception {
        var answer = active().alterPartitionReassignments(
            context(ApiKeys.ALTER_PARTITION_REASSIGNMENTS),
            new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                new ReassignableTopic().setName(TOPIC).setPartitions(List.of(
                    new ReassignablePartition().setPartitionIndex(0).setReplicas(target)))))).get();
        return Errors.forCode(answer.responses().get(0).partitions().get(0).errorCode()).name();
    }

    private String propose(List<Integer> isr) throws Exception {
        PartitionRegistration partition = partition();
        List<AlterPartitionRequestData.BrokerState> states = new ArrayList<>();
        for (int id : isr) {
            states.add(new AlterPartitionRequestData.BrokerState().setBrokerId(id).setBrokerEpoch(epochs.get(id)));
        }
        var answer = active().alterPartition(
            context(ApiKeys.ALTER_PARTITION),
            new AlterPartitionRequestData().
                setBrokerId(partition.leader).
                setBrokerEpoch(epochs.get(partition.leader)).
                setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(topic).setPartitions(List.of(
                    new AlterPartitionRequestData.PartitionData().
                        setPartitionIndex(0).
                        setLeaderEpoch(partition.leaderEpoch).
                        setPartitionEpoch(partition.partitionEpoch).
                        setNewIsrWithEpochs(states)))))).get();
        return Errors.forCode(answer.topics().get(0).partitions().get(0).errorCode()).name();
    }

    /** The broker falls silent, its session expires, and it registers as a new incarnation. */
    private String restart(int id, long previousEpoch) throws Exception {
        alive.remove(id);
        while (true) {
            try {
                register(id, previousEpoch);
                return "NONE";
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof DuplicateBrokerRegistrationException)) {
                    throw e;
                }
                Thread.sleep(SESSION_MS / 10);
            }
        }
    }

    private void register(int id, long previousEpoch) throws Exception {
        int incarnation = incarnations.merge(id, 1, Integer::sum);
        var listeners = new BrokerRegistrationRequestData.ListenerCollection();
        listeners.add(new BrokerRegistrationRequestData.Listener().
            setName("PLAINTEXT").setHost("localhost").setPort(9092 + id));
        var features = new BrokerRegistrationRequestData.FeatureCollection();
        for (Map.Entry<String, Short> feature : Map.of(
                "metadata.version", Short.MAX_VALUE, "eligible.leader.replicas.version", (short) 1,
                "kraft.version", (short) 1, "group.version", (short) 1, "transaction.version", (short) 2,
                "share.version", (short) 2, "streams.version", (short) 1).entrySet()) {
            features.add(new BrokerRegistrationRequestData.Feature().
                setName(feature.getKey()).
                setMinSupportedVersion((short) (feature.getKey().equals("metadata.version") ? 1 : 0)).
                setMaxSupportedVersion(feature.getValue()));
        }
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().
            setBrokerId(id).
            setClusterId(active().clusterId()).
            setIncarnationId(new Uuid(1000L + id, 1000L + incarnation)).
            setLogDirs(List.of(new Uuid(2000L + id, 2000L + id))).
            setFeatures(features).
            setListeners(listeners);
        if (previousEpoch >= 0) {
            BrokerRegistrationRequestData.class.getMethod("setPreviousBrokerEpoch", long.class).
                invoke(request, previousEpoch);
        }
        epochs.put(id, active().registerBroker(context(ApiKeys.BROKER_REGISTRATION), request).get().epoch());
    }

    private void heartbeat(int id, boolean fence) throws Exception {
        active().processBrokerHeartbeat(
            context(ApiKeys.BROKER_HEARTBEAT),
            new BrokerHeartbeatRequestData().
                setBrokerId(id).
                setBrokerEpoch(epochs.get(id)).
                setWantFence(fence).
                setCurrentMetadataOffset(1_000_000L)).get();
        if (!fence) {
            alive.add(id);
        }
    }

    private void beat() {
        while (true) {
            for (int id : alive) {
                try {
                    heartbeat(id, false);
                } catch (Exception e) {
                    // a controller that resigns does not answer: the next beat asks the next one
                }
            }
            try {
                Thread.sleep(SESSION_MS / 10);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private QuorumController active() throws InterruptedException {
        return environment.activeController(true);
    }

    private PartitionRegistration partition() throws Exception {
        return active().replicationControl().getPartition(topic, 0);
    }

    private String shown() throws Exception {
        PartitionRegistration p = partition();
        return String.join("\t",
            list(p.replicas), sorted(p.isr), sorted(p.elr), sorted(p.addingReplicas), sorted(p.removingReplicas),
            Integer.toString(p.leader), Integer.toString(active().curClaimEpoch()));
    }

    private static String list(int[] ids) {
        return Arrays.stream(ids).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }

    private static String sorted(int[] ids) {
        return new TreeSet<>(Arrays.stream(ids).boxed().toList()).stream().
            map(String::valueOf).collect(Collectors.joining(","));
    }

    private static List<Integer> ids(String text) {
        return Arrays.stream(text.split(",")).map(Integer::valueOf).toList();
    }

    private static ControllerRequestContext context(ApiKeys key) {
        return new ControllerRequestContext(
            new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(key.latestVersion()),
            KafkaPrincipal.ANONYMOUS,
            OptionalLong.empty());
    }
}
