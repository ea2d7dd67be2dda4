package org.apache.kafka.controller;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Random;
import java.util.function.Supplier;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Executes commands on Kafka's own {@link ReplicationControlManager}, without a cluster: one topic, one watched
 * partition, up to six brokers. The log is played by this class: what a command answers as records is replayed at once.
 *
 * <p>It stands in this package because most of the controller is visible to its package only. Where releases differ,
 * {@link Release} reaches the method by reflection; nothing else does.
 *
 * <h2>Protocol</h2>
 * Standard input and output, binary, big-endian. The driver says hello with the release of the jar (UTF). Then, by the
 * first byte of a request:
 * <ul>
 *   <li>{@code I} (begin): bytes brokers, min.insync.replicas, replicas of partition 0 (0: the watched partition is
 *       partition 0), log directories of each broker, switches ({@link Setup}), and the metadata version (UTF; empty:
 *       the release's newest). A fresh controller; everybody is registered and unfenced. The answer is a text (UTF):
 *       empty, or why there is no such controller.
 *   <li>{@code S} (steps): int n, n x 7 longs; the answer is n x 4 longs.
 *   <li>{@code D} (describe): one step; the answer is 4 longs and a text: Kafka's records, what was thrown.
 *   <li>{@code C} (commands): int n, n x 2 longs (command, list): the table for {@code X}. No answer.
 *   <li>{@code X} (expand): int n, n x 2 longs (state, settings); the answer is, for each state and command, a long
 *       (state) and two ints (settings, answer).
 * </ul>
 *
 * <p>A step is: state, epochs, incarnations, command, list, request epochs, request incarnations. An answer is: state,
 * epochs, incarnations, answer. The words are laid out as {@link State}, {@link Command} and {@link Answer} say.
 *
 * <p>Two things are not the log's. A replica's directory is left out of a state: each that a broker names is online, so
 * nothing depends on it. Kafka's index of eligible leaders keeps those that a ClearElrRecord removes; here it is put
 * right, as it is in a controller that begins with a snapshot.
 */
public final class ControllerDriver {
    private static final int MAX_BROKERS = 6;
    private static final int FIRST_BROKER_EPOCH = 100;
    private static final int EPOCHS_OF_EXPANSION = 1000;
    private static final String TOPIC = "watched";
    private static final Uuid TOPIC_ID = new Uuid(1L, 1L);
    private static final String CLUSTER_ID = "driven";
    private static final String UNCLEAN_CONFIG = "unclean.leader.election.enable";
    private static final String MIN_ISR_CONFIG = "min.insync.replicas";

    private final Clock clock = new Clock();
    private final Setup setup;
    private final int brokers;
    private final int minIsr;
    private final int index;
    private final Release release;
    private final FeatureControlManager features;
    private final ClusterControlManager cluster;
    private final ConfigurationControlManager configuration;
    private final ReplicationControlManager replication;

    /** What the controller holds now. */
    private State now = null;

    /** What Kafka said beside the error code of its last answer; null if nothing. */
    private String message = null;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // nothing but the protocol goes to standard output
        serve(System.in, out);
    }

    private static void serve(InputStream input, OutputStream output) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(input, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(output, 1 << 16));
        out.writeUTF(Release.name());
        out.flush();
        ControllerDriver driver = null;
        long[][] commands = new long[0][];
        while (true) {
            int request = in.read();
            switch (request) {
                case 'I':
                    driver = null;
                    try {
                        driver = new ControllerDriver(new Setup(in));
                        out.writeUTF("");
                    } catch (IllegalArgumentException e) {
                        out.writeUTF(e.getMessage());
                    }
                    break;
                case 'S':
                    driver.steps(readLongs(in, 7), out);
                    break;
                case 'D':
                    driver.describe(readLongs(in, 7), out);
                    break;
                case 'C':
                    commands = readLongs(in, 2);
                    break;
                case 'X':
                    driver.expand(readLongs(in, 2), commands, out);
                    break;
                case -1:
                    return;
                default:
                    throw new IOException("unknown request " + request);
            }
            out.flush();
        }
    }

    /** An int n, and n rows of so many longs. */
    private static long[][] readLongs(DataInputStream in, int width) throws IOException {
        int count = in.readInt();
        byte[] bytes = in.readNBytes(count * width * Long.BYTES);
        if (bytes.length < count * width * Long.BYTES) {
            throw new EOFException();
        }
        ByteBuffer words = ByteBuffer.wrap(bytes);
        long[][] rows = new long[count][width];
        for (long[] row : rows) {
            for (int i = 0; i < width; i++) {
                row[i] = words.getLong();
            }
        }
        return rows;
    }

    private ControllerDriver(Setup setup) throws Exception {
        if (setup.brokers < 1 || setup.brokers > MAX_BROKERS) {
            throw new IllegalArgumentException(setup.brokers + " brokers; 1 to " + MAX_BROKERS);
        }
        this.setup = setup;
        this.brokers = setup.brokers;
        this.minIsr = setup.minIsr;
        this.index = setup.replicasOfPartitionZero == 0 ? 0 : 1;
        SnapshotRegistry snapshots = Release.snapshotRegistry();
        this.release = new Release(setup);
        this.features = release.features(snapshots);
        this.configuration = release.configuration(snapshots, features, schema());
        ClusterControlManager.Builder clusterBuilder = new ClusterControlManager.Builder().
            setClusterId(CLUSTER_ID).
            setTime(clock).
            setSnapshotRegistry(snapshots).
            setReplicaPlacer(new StripedReplicaPlacer(new Random(0))).
            setFeatureControlManager(features);
        release.onShutdown(clusterBuilder, this::shutdownRecords);
        this.cluster = clusterBuilder.build();
        ReplicationControlManager.Builder builder = new ReplicationControlManager.Builder().
            setSnapshotRegistry(snapshots).
            setMaxElectionsPerImbalance(Integer.MAX_VALUE).
            setConfigurationControl(configuration).
            setClusterControl(cluster).
            setFeatureControl(features);
        release.enableElr(builder);
        this.replication = builder.build();
        cluster.activate();
        release.startFeatures(features);
        replay(new TopicRecord().setName(TOPIC).setTopicId(TOPIC_ID));
        configure(MIN_ISR_CONFIG, Integer.toString(minIsr));
        if (index > 0) {
            partitionZero(setup.replicasOfPartitionZero);
        }
    }

    /** Topic configurations that the controller looks at, with Kafka's defaults. */
    private static KafkaConfigSchema schema() {
        Map<ConfigResource.Type, ConfigDef> definitions = new HashMap<>();
        for (ConfigResource.Type type : List.of(ConfigResource.Type.BROKER, ConfigResource.Type.TOPIC)) {
            definitions.put(type, new ConfigDef().
                define(UNCLEAN_CONFIG, ConfigDef.Type.BOOLEAN, "false", ConfigDef.Importance.HIGH, "").
                define(MIN_ISR_CONFIG, ConfigDef.Type.INT, "1", ConfigDef.Importance.HIGH, ""));
        }
        Map<String, List<ConfigSynonym>> synonyms = new HashMap<>();
        for (String key : List.of(UNCLEAN_CONFIG, MIN_ISR_CONFIG)) {
            synonyms.put(key, List.of(new ConfigSynonym(key)));
        }
        return new KafkaConfigSchema(definitions, synonyms);
    }

    /** Partition 0 on brokers of its own, which nothing ever happens to: only its number of replicas matters. */
    private void partitionZero(int replicas) throws Exception {
        List<Integer> ids = new ArrayList<>();
        for (int id = MAX_BROKERS + 1; id <= MAX_BROKERS + replicas; id++) {
            replay(registration(id, 0, false, false, false));
            ids.add(id);
        }
        replay(located(record(0, ids, ids).setLeader(ids.get(0)).setLeaderEpoch(0).setPartitionEpoch(0)));
    }

    // -- requests of the protocol -------------------------------------------------------------------------------

    private void steps(long[][] steps, DataOutputStream out) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(steps.length * 4 * Long.BYTES);
        for (long[] step : steps) {
            long answer = take(step, null);
            bytes.putLong(now.packed).putLong(now.epochs).putLong(now.incarnations).putLong(answer);
        }
        out.write(bytes.array());
    }

    private void describe(long[][] steps, DataOutputStream out) throws Exception {
        StringBuilder text = new StringBuilder();
        long answer = take(steps[0], text);
        for (long word : new long[] {now.packed, now.epochs, now.incarnations, answer}) {
            out.writeLong(word);
        }
        byte[] bytes = text.toString().getBytes("UTF-8");
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    /** Every command in every state. Epochs do not count here: they start from the same, and the answer says by how much they rose. */
    private void expand(long[][] states, long[][] commands, DataOutputStream out) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(commands.length * (Long.BYTES + 2 * Integer.BYTES));
        long epochs = State.epochs(EPOCHS_OF_EXPANSION, EPOCHS_OF_EXPANSION);
        for (long[] state : states) {
            bytes.clear();
            for (long[] command : commands) {
                set(state[0], epochs, state[1]);
                long answer = execute(new Command(command[0], command[1], 0L, 0L), null);
                bytes.putLong(now.packed).putInt((int) (now.incarnations & State.SETTINGS));
                bytes.putInt((int) Answer.withRises(answer, now, EPOCHS_OF_EXPANSION));
            }
            out.write(bytes.array());
        }
    }

    private long take(long[] step, StringBuilder text) throws Exception {
        Command command = new Command(step[3], step[4], step[5], step[6]);
        if (command.setsState()) {
            set(step[0], step[1], step[2]);
        }
        return execute(command, text);
    }

    // -- the state ----------------------------------------------------------------------------------------------

    /** Makes the controller hold a state, by replaying what differs. */
    private void set(long packed, long epochs, long incarnations) throws Exception {
        State wanted = new State(packed, epochs, incarnations);
        if (wanted.equals(now)) {
            return;
        }
        for (int id = 1; id <= brokers; id++) {
            if (now != null && wanted.sameBroker(now, id)) {
                continue;
            }
            if (wanted.isRegistered(id)) {
                replay(registration(id, wanted.incarnation(id), wanted.isFenced(id), wanted.isShuttingDown(id),
                    wanted.isCordoned(id)));
            } else if (now != null && now.isRegistered(id)) {
                replay(new UnregisterBrokerRecord().setBrokerId(id).setBrokerEpoch(epochOf(id)));
            }
        }
        if (now == null || now.isUnclean() != wanted.isUnclean()) {
            configure(UNCLEAN_CONFIG, Boolean.toString(wanted.isUnclean()));
        }
        if (now == null || now.minIsr(minIsr) != wanted.minIsr(minIsr)) {
            configure(MIN_ISR_CONFIG, Integer.toString(wanted.minIsr(minIsr)));
        }
        if (now == null || !wanted.samePartition(now)) {
            replay(located(wanted.record(index)));
        }
        if (setup.company && (now == null || replication.getPartition(TOPIC_ID, index + 1).partitionEpoch > 0)) {
            replay(companion());
        }
        now = wanted;
    }

    /**
     * The other partition of a request: without a leader, its last known leader one that is not a replica any more. Kafka
     * throws as soon as it looks for a leader while that broker, the last one, is alive.
     */
    private PartitionRecord companion() {
        return located(record(index + 1, List.of(1), List.of()).
            setLeader(-1).
            setLeaderEpoch(0).
            setPartitionEpoch(0).
            setLastKnownElr(List.of(brokers)));
    }

    private void read() {
        long fenced = 0L;
        long shuttingDown = 0L;
        long incarnations = 0L;
        for (int id = 1; id <= brokers; id++) {
            BrokerRegistration registration = cluster.brokerRegistrations().get(id);
            if (registration == null) {
                fenced |= State.bit(id);
                incarnations |= State.unregistered(id) | now.incarnations & State.incarnationBits(id);
                continue;
            }
            fenced |= registration.fenced() ? State.bit(id) : 0L;
            shuttingDown |= registration.inControlledShutdown() ? State.bit(id) : 0L;
            incarnations |= (registration.epoch() - FIRST_BROKER_EPOCH) << State.incarnationShift(id);
            incarnations |= release.isCordoned(registration) ? State.cordoned(id) : 0L;
        }
        PartitionRegistration partition = replication.getPartition(TOPIC_ID, index);
        now = new State(
            State.packed(partition, fenced, shuttingDown, now.isUnclean()),
            State.epochs(partition.leaderEpoch, partition.partitionEpoch),
            incarnations | now.incarnations & State.MIN_ISR_BITS);
    }

    private void configure(String key, String value) throws Exception {
        replay(new ConfigRecord().
            setResourceType(ConfigResource.Type.TOPIC.id()).
            setResourceName(TOPIC).
            setName(key).
            setValue(value));
    }

    private RegisterBrokerRecord registration(
        int id, int incarnation, boolean fenced, boolean shuttingDown, boolean cordoned
    ) {
        RegisterBrokerRecord record = new RegisterBrokerRecord().
            setBrokerId(id).
            setIncarnationId(incarnationId(id, incarnation)).
            setBrokerEpoch(FIRST_BROKER_EPOCH + incarnation).
            setFenced(fenced).
            setInControlledShutdown(shuttingDown);
        if (release.knowsDirectories()) {
            record.setLogDirs(directories(id));
        }
        if (cordoned) {
            release.cordon(record, directories(id));
        }
        record.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().
            setName("PLAINTEXT").setHost("localhost").setPort(9092 + id).setSecurityProtocol((short) 0));
        return record;
    }

    private static Uuid incarnationId(int id, int incarnation) {
        return new Uuid(1000L + id, 1000L + incarnation);
    }

    /** The log directories of a broker. */
    private List<Uuid> directories(int id) {
        List<Uuid> directories = new ArrayList<>();
        for (int number = 0; number < setup.directories; number++) {
            directories.add(directory(id, number));
        }
        return directories;
    }

    private static Uuid directory(int id, int number) {
        return new Uuid(2000L + id, 2000L + id + 1000L * number);
    }

    private static PartitionRecord record(int index, List<Integer> replicas, List<Integer> isr) {
        return new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(index).setReplicas(replicas).setIsr(isr);
    }

    /** With the first directory of each replica: a partition without directories counts as one that is being migrated. */
    private PartitionRecord located(PartitionRecord record) {
        if (release.knowsDirectories()) {
            List<Uuid> directories = new ArrayList<>();
            for (int id : record.replicas()) {
                directories.add(directory(id, 0));
            }
            record.setDirectories(directories);
        }
        return record;
    }

    /** What the log does with a record. */
    private void replay(ApiMessage message) throws Exception {
        if (message instanceof PartitionChangeRecord) {
            replication.replay((PartitionChangeRecord) message);
        } else if (message instanceof PartitionRecord) {
            replication.replay((PartitionRecord) message);
        } else if (message instanceof TopicRecord) {
            replication.replay((TopicRecord) message);
        } else if (message instanceof BrokerRegistrationChangeRecord) {
            cluster.replay((BrokerRegistrationChangeRecord) message);
        } else if (message instanceof RegisterBrokerRecord) {
            cluster.replay((RegisterBrokerRecord) message, 0L);
        } else if (message instanceof ConfigRecord) {
            configuration.replay((ConfigRecord) message);
        } else {
            release.replay(message, replication, cluster);
        }
    }

    // -- commands -----------------------------------------------------------------------------------------------

    /**
     * Executes a command and replays its records. An exception that Kafka's controller would not turn into an answer is
     * a result: there the controller gives up its leadership, and nothing is written.
     */
    private long execute(Command command, StringBuilder text) throws Exception {
        if (!applies(command)) {
            return Answer.NOT_APPLICABLE;
        }
        List<ApiMessageAndVersion> records = new ArrayList<>();
        Errors error;
        boolean thrown = false;
        int count = 0;
        message = null;
        try {
            error = call(command, records);
        } catch (ApiException e) {
            error = Errors.forException(e);
            records.clear();
            say(text, e);
        } catch (RuntimeException e) {
            error = Errors.UNKNOWN_SERVER_ERROR;
            thrown = true;
            records.clear();
            say(text, e);
        }
        if (text != null && message != null) {
            text.append(error).append(": ").append(message).append('\n');
        }
        for (ApiMessageAndVersion record : records) {
            if (text != null) {
                text.append(record.message()).append('\n');
            }
            replay(record.message());
            count += isOfCompanion(record.message()) ? 0 : 1;
        }
        if (!records.isEmpty()) {
            if (command.kind() == Command.CHANGE_MIN_ISR) {
                putElrIndexRight();
            }
            now = now.reconfigured(command);
            read();
        }
        return Answer.of(error, thrown, count);
    }

    private boolean isOfCompanion(ApiMessage message) {
        return setup.company && message instanceof PartitionChangeRecord
            && ((PartitionChangeRecord) message).partitionId() == index + 1;
    }

    /** Takes those out of the index of eligible leaders whom a ClearElrRecord has removed. */
    private void putElrIndexRight() {
        int[] before = State.members(now.packed >> State.ELR).stream().mapToInt(Integer::intValue).toArray();
        int[] after = replication.getPartition(TOPIC_ID, index).elr;
        if (before.length > 0 && after.length == 0) {
            replication.brokersToElrs().update(TOPIC_ID, index, before, after);
        }
    }

    private static void say(StringBuilder text, Throwable thrown) {
        if (text == null) {
            return;
        }
        text.append(thrown.getClass().getName()).append(": ").append(thrown.getMessage()).append('\n');
        for (StackTraceElement frame : thrown.getStackTrace()) {
            if (!frame.getClassName().equals(ControllerDriver.class.getName())) {
                text.append("    at ").append(frame).append('\n');
            } else {
                return;
            }
        }
    }

    /** Whether a command makes sense in the present state: one that does not is not executed. */
    private boolean applies(Command command) {
        int id = command.broker();
        switch (command.kind()) {
            case Command.PROPOSE:
            case Command.PROPOSE_OLD_PARTITION_EPOCH:
            case Command.PROPOSE_OLD_LEADER_EPOCH:
            case Command.PROPOSE_OLD_BROKER_EPOCHS:
            case Command.PROPOSE_WITHOUT_BROKER_EPOCHS:
            case Command.PROPOSE_VERSION_2:
                return now.leader() != 0;
            case Command.PROPOSE_BY_FOLLOWER:
                return now.leader() != 0 && someFollower() != 0;
            case Command.FENCE:
                return !now.isFenced(id);
            case Command.UNFENCE:
                return now.isFenced(id) && now.isRegistered(id);
            case Command.CORDON:
                return release.cordons() && now.isRegistered(id) && !now.isCordoned(id);
            case Command.UNCORDON:
                return now.isRegistered(id) && now.isCordoned(id);
            case Command.ASSIGN_DIRECTORY:
                return setup.directories > 1 && now.isRegistered(id);
            case Command.UNREGISTER:
                return now.isRegistered(id);
            case Command.CONTROLLED_SHUTDOWN:
                return !now.isFenced(id) && !now.isShuttingDown(id);
            case Command.RESTART_CLEANLY:
                return release.detectsCleanShutdown();
            case Command.ELECT_LEADERLESS:
                return someUnfenced() != 0;
            default:
                return true;
        }
    }

    private Errors call(Command command, List<ApiMessageAndVersion> records) {
        int id = command.broker();
        switch (command.kind()) {
            case Command.REASSIGN:
                return reassign(State.list(command.list), records);
            case Command.CANCEL:
                return reassign(null, records);
            case Command.ALTER_PARTITION:
                return alterPartition(id, command.epochs, command.incarnations, command, records);
            case Command.PROPOSE:
            case Command.PROPOSE_WITHOUT_BROKER_EPOCHS:
            case Command.PROPOSE_VERSION_2:
                return alterPartition(now.leader(), now.epochs, now.incarnations, command, records);
            case Command.PROPOSE_OLD_PARTITION_EPOCH:
                return alterPartition(now.leader(), State.earlier(now.epochs, 0, 1), now.incarnations, command, records);
            case Command.PROPOSE_OLD_LEADER_EPOCH:
                return alterPartition(now.leader(), State.earlier(now.epochs, 1, 0), now.incarnations, command, records);
            case Command.PROPOSE_OLD_BROKER_EPOCHS:
                return alterPartition(now.leader(), now.epochs, now.incarnations, command, records);
            case Command.PROPOSE_BY_FOLLOWER:
                return alterPartition(someFollower(), now.epochs, now.incarnations, command, records);
            case Command.FENCE:
                replication.handleBrokerFenced(id, records);
                return Errors.NONE;
            case Command.UNFENCE:
                replication.handleBrokerUnfenced(id, epochOf(id), records);
                return Errors.NONE;
            case Command.ELECT_LEADERLESS:
                replication.handleBrokerUnfenced(someUnfenced(), epochOf(someUnfenced()), records);
                return Errors.NONE;
            case Command.CONTROLLED_SHUTDOWN:
                replication.handleBrokerInControlledShutdown(id, epochOf(id), records);
                return Errors.NONE;
            case Command.RESTART_UNCLEANLY:
                return register(id, false, records);
            case Command.RESTART_CLEANLY:
                return register(id, true, records);
            case Command.ELECT_PREFERRED:
                return elect((byte) 0, records);
            case Command.ELECT_UNCLEAN:
                return elect((byte) 1, records);
            case Command.MAYBE_ELECT_UNCLEAN:
                records.addAll(replication.maybeElectUncleanLeaders().records());
                return Errors.NONE;
            case Command.CHANGE_MIN_ISR:
                return alterConfig(MIN_ISR_CONFIG, Integer.toString(command.value()), records);
            case Command.CHANGE_UNCLEAN:
                return alterConfig(UNCLEAN_CONFIG, Boolean.toString(command.value() != 0), records);
            case Command.CORDON:
                release.cordon(replication, id, epochOf(id), directories(id), records);
                return Errors.NONE;
            case Command.UNCORDON:
                release.cordon(replication, id, epochOf(id), List.of(), records);
                return Errors.NONE;
            case Command.ASSIGN_DIRECTORY:
                return assignDirectory(id, records);
            case Command.UNREGISTER:
                records.addAll(replication.unregisterBroker(id).records());
                return Errors.NONE;
            case Command.BALANCE:
                records.addAll(replication.maybeBalancePartitionLeaders().records());
                return Errors.NONE;
            default:
                throw new IllegalStateException("no command " + command.kind());
        }
    }

    /** The first registered broker that does not lead; 0 if there is none. */
    private int someFollower() {
        for (int id = 1; id <= brokers; id++) {
            if (id != now.leader() && now.isRegistered(id)) {
                return id;
            }
        }
        return 0;
    }

    /** The first broker that is not fenced; 0 if there is none. */
    private int someUnfenced() {
        for (int id = 1; id <= brokers; id++) {
            if (!now.isFenced(id)) {
                return id;
            }
        }
        return 0;
    }

    /** The broker epoch of the present registration, or of the last one. */
    private long epochOf(int id) {
        return FIRST_BROKER_EPOCH + now.incarnation(id);
    }

    private Errors reassign(List<Integer> target, List<ApiMessageAndVersion> records) {
        List<ReassignablePartition> partitions = new ArrayList<>();
        if (setup.company) {
            partitions.add(new ReassignablePartition().setPartitionIndex(index + 1).setReplicas(target));
        }
        partitions.add(new ReassignablePartition().setPartitionIndex(index).setReplicas(target));
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData().
            setTopics(List.of(new ReassignableTopic().setName(TOPIC).setPartitions(partitions)));
        var result = replication.alterPartitionReassignments(request);
        records.addAll(result.records());
        var answer = last(result.response().responses().get(0).partitions());
        message = answer.errorMessage();
        return Errors.forCode(answer.errorCode());
    }

    /**
     * AlterPartition of version 3: each member of the ISR comes with its broker epoch, or with -1, which a leader sends of
     * a follower that has fetched before its registration was answered. In version 2 the members have no epochs.
     */
    private Errors alterPartition(
        int source, long epochs, long incarnations, Command command, List<ApiMessageAndVersion> records
    ) {
        boolean ofVersion2 = command.kind() == Command.PROPOSE_VERSION_2;
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        for (int id : State.members(command.list)) {
            int age = command.kind() == Command.PROPOSE_OLD_BROKER_EPOCHS && id != source ? 1 : 0;
            boolean unknown = command.kind() == Command.PROPOSE_WITHOUT_BROKER_EPOCHS && id != source;
            isr.add(new AlterPartitionRequestData.BrokerState().
                setBrokerId(id).
                setBrokerEpoch(unknown ? -1 : FIRST_BROKER_EPOCH + State.incarnation(incarnations, id) - age));
        }
        LeaderRecoveryState recovery =
            command.recovering() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED;
        List<AlterPartitionRequestData.PartitionData> partitions = new ArrayList<>();
        for (int each = index + (setup.company ? 1 : 0); each >= index; each--) {
            AlterPartitionRequestData.PartitionData partition = new AlterPartitionRequestData.PartitionData().
                setPartitionIndex(each).
                setLeaderEpoch(each == index ? State.leaderEpoch(epochs) : 0).
                setPartitionEpoch(each == index ? State.partitionEpoch(epochs) : 0).
                setLeaderRecoveryState(recovery.value());
            partitions.add(ofVersion2
                ? partition.setNewIsr(isr.stream().map(AlterPartitionRequestData.BrokerState::brokerId).toList())
                : partition.setNewIsrWithEpochs(isr));
        }
        AlterPartitionRequestData request = new AlterPartitionRequestData().
            setBrokerId(source).
            setBrokerEpoch(FIRST_BROKER_EPOCH + State.incarnation(incarnations, source)).
            setTopics(List.of(
                new AlterPartitionRequestData.TopicData().setTopicId(TOPIC_ID).setPartitions(partitions)));
        RequestHeaderData header = new RequestHeaderData().
            setRequestApiKey(ApiKeys.ALTER_PARTITION.id).
            setRequestApiVersion((short) (ofVersion2 ? 2 : 3));
        var context = new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        var result = replication.alterPartition(context, request);
        records.addAll(result.records());
        return Errors.forCode(last(result.response().topics().get(0).partitions()).errorCode());
    }

    /** The watched partition's part of an answer: the other partition of a request comes first. */
    private static <T> T last(List<T> parts) {
        return parts.get(parts.size() - 1);
    }

    private Errors elect(byte type, List<ApiMessageAndVersion> records) {
        var partitions = new ElectLeadersRequestData.TopicPartitionsCollection();
        partitions.add(new ElectLeadersRequestData.TopicPartitions().setTopic(TOPIC).setPartitions(
            setup.company ? List.of(index + 1, index) : List.of(index)));
        var result = replication.electLeaders(
            new ElectLeadersRequestData().setElectionType(type).setTopicPartitions(partitions));
        records.addAll(result.records());
        var answer = last(result.response().replicaElectionResults().get(0).partitionResult());
        message = answer.errorMessage();
        return Errors.forCode(answer.errorCode());
    }

    /** IncrementalAlterConfigs of the topic. */
    private Errors alterConfig(String key, String value, List<ApiMessageAndVersion> records) {
        var change = Map.of(
            new ConfigResource(ConfigResource.Type.TOPIC, TOPIC),
            Map.of(key, Map.entry(AlterConfigOp.OpType.SET, value)));
        ControllerResult<Map<ConfigResource, ApiError>> result = release.alterConfigs(configuration, change);
        records.addAll(result.records());
        return result.response().values().iterator().next().error();
    }

    /** AssignReplicasToDirs: the broker has moved its replica to its other directory, or keeps it in the second one. */
    private Errors assignDirectory(int id, List<ApiMessageAndVersion> records) {
        PartitionRegistration partition = replication.getPartition(TOPIC_ID, index);
        boolean moves = false;
        for (int i = 0; i < partition.replicas.length; i++) {
            moves |= partition.replicas[i] == id && partition.directories[i].equals(directory(id, 1));
        }
        var request = new AssignReplicasToDirsRequestData().
            setBrokerId(id).
            setBrokerEpoch(epochOf(id)).
            setDirectories(List.of(new AssignReplicasToDirsRequestData.DirectoryData().
                setId(directory(id, moves ? 0 : 1)).
                setTopics(List.of(new AssignReplicasToDirsRequestData.TopicData().
                    setTopicId(TOPIC_ID).
                    setPartitions(List.of(
                        new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(index)))))));
        var result = replication.handleAssignReplicasToDirs(request);
        records.addAll(result.records());
        var directory = result.response().directories().get(0);
        return Errors.forCode(directory.topics().get(0).partitions().get(0).errorCode());
    }

    /** A broker comes back as a new incarnation, after its session has run out. */
    private Errors register(int id, boolean clean, List<ApiMessageAndVersion> records) {
        clock.pass();
        int incarnation = now.incarnation(id) + 1;
        var listeners = new BrokerRegistrationRequestData.ListenerCollection();
        listeners.add(new BrokerRegistrationRequestData.Listener().
            setName("PLAINTEXT").setHost("localhost").setPort(9092 + id).setSecurityProtocol((short) 0));
        var supported = new BrokerRegistrationRequestData.FeatureCollection();
        supported.add(new BrokerRegistrationRequestData.Feature().
            setName(MetadataVersion.FEATURE_NAME).
            setMinSupportedVersion((short) 1).
            setMaxSupportedVersion(Short.MAX_VALUE));
        supported.add(new BrokerRegistrationRequestData.Feature().
            setName(Release.ELR_FEATURE).
            setMinSupportedVersion((short) 0).
            setMaxSupportedVersion((short) 1));
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().
            setBrokerId(id).
            setClusterId(CLUSTER_ID).
            setIncarnationId(incarnationId(id, incarnation)).
            setListeners(listeners).
            setFeatures(supported).
            setLogDirs(directories(id));
        release.previousEpoch(request, clean ? epochOf(id) : -1L);
        records.addAll(release.register(
            cluster, request, FIRST_BROKER_EPOCH + incarnation, features.finalizedFeatures(Long.MAX_VALUE)).records());
        return Errors.NONE;
    }

    private void shutdownRecords(int id, boolean clean, List<ApiMessageAndVersion> records) {
        release.handleShutdown(replication, id, clean, records);
    }

    // -- the words of the protocol --------------------------------------------------------------------------------

    /**
     * Partition and brokers in a long, epochs and incarnations in one each. From bit 0: replicas, three bits each in
     * order (0: no more); ISR, ELR, adding, removing, six bits each, bit b-1 for broker b; leader, three bits (0: none);
     * recovering; last known leader, three bits (0: none, 7: Kafka keeps [-1]); fenced and shutting down, six bits each;
     * unclean election allowed. Epochs: the leader's in the upper half. Incarnations: first the settings, which are
     * min.insync.replicas, eight bits, 0 for what the controller began with; brokers whose directories are all cordoned,
     * and brokers that are not registered, six bits each (these count as fenced, too); then seven bits for each broker.
     */
    private static final class State {
        private static final int ISR = 18;
        private static final int ELR = 24;
        private static final int ADDING = 30;
        private static final int REMOVING = 36;
        private static final int LEADER = 42;
        private static final int RECOVERING = 45;
        private static final int LAST_KNOWN = 46;
        private static final int FENCED = 49;
        private static final int SHUTTING_DOWN = 55;
        private static final int UNCLEAN = 61;
        private static final long SET = 63L;
        private static final int NOBODY = 7;
        private static final long PARTITION = (1L << FENCED) - 1;
        private static final long MIN_ISR_BITS = 255L;
        private static final int CORDONED = 8;
        private static final int UNREGISTERED = 14;
        private static final int INCARNATIONS = 20;
        private static final long SETTINGS = (1L << INCARNATIONS) - 1;

        private final long packed;
        private final long epochs;
        private final long incarnations;

        State(long packed, long epochs, long incarnations) {
            this.packed = packed;
            this.epochs = epochs;
            this.incarnations = incarnations;
        }

        boolean equals(State other) {
            return other != null && packed == other.packed && epochs == other.epochs
                && incarnations == other.incarnations;
        }

        boolean samePartition(State other) {
            return ((packed ^ other.packed) & PARTITION) == 0 && epochs == other.epochs;
        }

        boolean sameBroker(State other, int id) {
            return isFenced(id) == other.isFenced(id) && isShuttingDown(id) == other.isShuttingDown(id)
                && incarnation(id) == other.incarnation(id) && isCordoned(id) == other.isCordoned(id)
                && isRegistered(id) == other.isRegistered(id);
        }

        boolean isCordoned(int id) {
            return (incarnations & cordoned(id)) != 0;
        }

        boolean isRegistered(int id) {
            return (incarnations & unregistered(id)) == 0;
        }

        static long cordoned(int id) {
            return bit(id) << CORDONED;
        }

        static long unregistered(int id) {
            return bit(id) << UNREGISTERED;
        }

        static long incarnationBits(int id) {
            return 127L << incarnationShift(id);
        }

        int leader() {
            return (int) (packed >> LEADER) & 7;
        }

        boolean isFenced(int id) {
            return (packed >> FENCED & bit(id)) != 0;
        }

        boolean isShuttingDown(int id) {
            return (packed >> SHUTTING_DOWN & bit(id)) != 0;
        }

        boolean isUnclean() {
            return (packed >> UNCLEAN & 1) != 0;
        }

        int incarnation(int id) {
            return incarnation(incarnations, id);
        }

        /** min.insync.replicas, given what the controller began with. */
        int minIsr(int begun) {
            int own = (int) (incarnations & MIN_ISR_BITS);
            return own == 0 ? begun : own;
        }

        /** The state after a command that changes the topic's configuration; any other leaves it as it is. */
        State reconfigured(Command command) {
            if (command.kind() == Command.CHANGE_MIN_ISR) {
                long others = incarnations & ~MIN_ISR_BITS;
                return new State(packed, epochs, others | command.value());
            }
            if (command.kind() == Command.CHANGE_UNCLEAN) {
                long others = packed & ~(1L << UNCLEAN);
                return new State(others | (long) command.value() << UNCLEAN, epochs, incarnations);
            }
            return this;
        }

        PartitionRecord record(int index) {
            PartitionRecord record = ControllerDriver.record(index, list(packed), members(packed >> ISR)).
                setAddingReplicas(members(packed >> ADDING)).
                setRemovingReplicas(members(packed >> REMOVING)).
                setLeader(leader() == 0 ? -1 : leader()).
                setLeaderRecoveryState((byte) (packed >> RECOVERING & 1)).
                setLeaderEpoch(leaderEpoch(epochs)).
                setPartitionEpoch(partitionEpoch(epochs));
            List<Integer> elr = members(packed >> ELR);
            int lastKnown = (int) (packed >> LAST_KNOWN) & 7;
            if (!elr.isEmpty()) {
                record.setEligibleLeaderReplicas(elr);
            }
            if (lastKnown != 0) {
                record.setLastKnownElr(List.of(lastKnown == NOBODY ? -1 : lastKnown));
            }
            return record;
        }

        static long packed(PartitionRegistration p, long fenced, long shuttingDown, boolean unclean) {
            long word = 0L;
            for (int i = 0; i < p.replicas.length; i++) {
                word |= (long) p.replicas[i] << (3 * i);
            }
            if (p.lastKnownElr.length > 1) {
                throw new IllegalStateException("several last known leaders: " + Arrays.toString(p.lastKnownElr));
            }
            long lastKnown = p.lastKnownElr.length == 0 ? 0 : p.lastKnownElr[0] == -1 ? NOBODY : p.lastKnownElr[0];
            return word
                | mask(p.isr) << ISR
                | mask(p.elr) << ELR
                | mask(p.addingReplicas) << ADDING
                | mask(p.removingReplicas) << REMOVING
                | (long) Math.max(p.leader, 0) << LEADER
                | (long) p.leaderRecoveryState.value() << RECOVERING
                | lastKnown << LAST_KNOWN
                | fenced << FENCED
                | shuttingDown << SHUTTING_DOWN
                | (unclean ? 1L << UNCLEAN : 0L);
        }

        static long bit(int id) {
            return 1L << (id - 1);
        }

        static long mask(int[] ids) {
            long mask = 0L;
            for (int id : ids) {
                mask |= bit(id);
            }
            return mask;
        }

        /** The brokers of a set in the lowest six bits, ascending. */
        static List<Integer> members(long mask) {
            List<Integer> ids = new ArrayList<>();
            for (long left = mask & SET; left != 0; left &= left - 1) {
                ids.add(Long.numberOfTrailingZeros(left) + 1);
            }
            return ids;
        }

        /** The brokers of a list in the lowest eighteen bits, in order. */
        static List<Integer> list(long word) {
            List<Integer> ids = new ArrayList<>();
            for (int i = 0; i < MAX_BROKERS && (word >> (3 * i) & 7) != 0; i++) {
                ids.add((int) (word >> (3 * i) & 7));
            }
            return ids;
        }

        static long epochs(int leaderEpoch, int partitionEpoch) {
            return (long) leaderEpoch << 32 | partitionEpoch;
        }

        static int leaderEpoch(long epochs) {
            return (int) (epochs >> 32);
        }

        static int partitionEpoch(long epochs) {
            return (int) epochs;
        }

        /** The epochs before so many rises. */
        static long earlier(long epochs, int leader, int partition) {
            return (long) (leaderEpoch(epochs) - leader) << 32 | partitionEpoch(epochs) - partition & 0xffffffffL;
        }

        static int incarnationShift(int id) {
            return INCARNATIONS + 7 * (id - 1);
        }

        static int incarnation(long incarnations, int id) {
            return (int) (incarnations >> incarnationShift(id)) & 127;
        }
    }

    /**
     * A command: kind in the lowest byte, broker (or a configuration's value) in the next, then flags. Its list is a list
     * or a set of brokers.
     */
    private static final class Command {
        static final int REASSIGN = 1;
        static final int CANCEL = 2;
        static final int ALTER_PARTITION = 3;
        static final int PROPOSE = 4;
        static final int FENCE = 5;
        static final int UNFENCE = 6;
        static final int CONTROLLED_SHUTDOWN = 7;
        static final int RESTART_UNCLEANLY = 8;
        static final int RESTART_CLEANLY = 9;
        static final int ELECT_PREFERRED = 10;
        static final int ELECT_UNCLEAN = 11;
        static final int MAYBE_ELECT_UNCLEAN = 12;
        static final int BALANCE = 13;
        static final int ELECT_LEADERLESS = 14;
        static final int CHANGE_MIN_ISR = 15;
        static final int CHANGE_UNCLEAN = 16;
        static final int CORDON = 17;
        static final int UNCORDON = 18;
        static final int ASSIGN_DIRECTORY = 19;
        static final int UNREGISTER = 20;
        static final int PROPOSE_OLD_PARTITION_EPOCH = 21;
        static final int PROPOSE_OLD_LEADER_EPOCH = 22;
        static final int PROPOSE_OLD_BROKER_EPOCHS = 23;
        static final int PROPOSE_BY_FOLLOWER = 24;
        static final int PROPOSE_WITHOUT_BROKER_EPOCHS = 25;
        static final int PROPOSE_VERSION_2 = 26;
        private static final int SETS_STATE = 16;
        private static final int RECOVERS = 17;

        private final long word;
        private final long list;
        private final long epochs;
        private final long incarnations;

        Command(long word, long list, long epochs, long incarnations) {
            this.word = word;
            this.list = list;
            this.epochs = epochs;
            this.incarnations = incarnations;
        }

        int kind() {
            return (int) word & 255;
        }

        int broker() {
            return (int) (word >> 8) & 255;
        }

        /** Of a change of the configuration: the new value, 0 or 1 for one that is true or false. */
        int value() {
            return broker();
        }

        /** Whether the step's state is to be set first; else it goes on from the present one. */
        boolean setsState() {
            return (word >> SETS_STATE & 1) != 0;
        }

        /** Of an AlterPartition: the leader is still recovering. */
        boolean recovering() {
            return (word >> RECOVERS & 1) != 0;
        }
    }

    /**
     * An answer: Kafka's error code in the lowest 16 bits; bit 16: an exception that makes a controller resign; from bit
     * 17 the number of records, six bits; bit 23: not applicable, nothing executed; of an expansion, from bit 24 the
     * rise of the leader epoch and from bit 28 that of the partition epoch, four bits each (at most seven).
     */
    private static final class Answer {
        static final long NOT_APPLICABLE = 1L << 23;

        static long of(Errors error, boolean thrown, int records) {
            return error.code() & 0xffffL | (thrown ? 1L << 16 : 0L) | (long) Math.min(records, 63) << 17;
        }

        static long withRises(long answer, State state, int from) {
            long leader = Math.min(State.leaderEpoch(state.epochs) - from, 7);
            long partition = Math.min(State.partitionEpoch(state.epochs) - from, 7);
            return answer | leader << 24 | partition << 28;
        }
    }

    /** How a controller begins. Switches, by bit: eligible leader replicas; a second partition in each request. */
    private static final class Setup {
        private final int brokers;
        private final int minIsr;
        private final int replicasOfPartitionZero;
        private final int directories;
        private final boolean elr;
        private final boolean company;
        private final String metadataVersion;

        Setup(DataInputStream in) throws IOException {
            this.brokers = in.readUnsignedByte();
            this.minIsr = in.readUnsignedByte();
            this.replicasOfPartitionZero = in.readUnsignedByte();
            this.directories = in.readUnsignedByte();
            int switches = in.readUnsignedByte();
            this.elr = (switches & 1) != 0;
            this.company = (switches & 2) != 0;
            this.metadataVersion = in.readUTF();
        }
    }

    /** A clock that stands still unless it is told that a session's time passes. */
    private static final class Clock implements Time {
        private long milliseconds = 0L;

        void pass() {
            milliseconds += 3_600_000L;
        }

        @Override
        public long milliseconds() {
            return milliseconds;
        }

        @Override
        public long nanoseconds() {
            return milliseconds * 1_000_000L;
        }

        @Override
        public void sleep(long ms) {
            milliseconds += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException("nothing waits here");
        }
    }

    /** Adds the records that a broker's shutdown calls for. */
    private interface ShutdownHandler {
        void handle(int id, boolean clean, List<ApiMessageAndVersion> records);
    }

    /** Everything that differs between releases, found by what the classes have. */
    private static final class Release {
        private static final String ELR_FEATURE = "eligible.leader.replicas.version";

        private final Method registerBroker = named(ClusterControlManager.class, "registerBroker");
        private final Method handleBrokerShutdown = named(ReplicationControlManager.class, "handleBrokerShutdown");
        private final Method handleBrokerUncleanShutdown =
            named(ReplicationControlManager.class, "handleBrokerUncleanShutdown");
        private final Method setPreviousBrokerEpoch =
            named(BrokerRegistrationRequestData.class, "setPreviousBrokerEpoch");
        private final Method incrementalAlterConfigs =
            named(ConfigurationControlManager.class, "incrementalAlterConfigs");
        private final Method setMetadataVersion = named(FeatureControlManager.Builder.class, "setMetadataVersion");
        private final Method setElrEnabled =
            named(ReplicationControlManager.Builder.class, "setEligibleLeaderReplicasEnabled");

        private final Method handleDirectoriesCordoned =
            named(ReplicationControlManager.class, "handleDirectoriesCordoned");
        private final Method setCordonedLogDirs = named(RegisterBrokerRecord.class, "setCordonedLogDirs");
        private final Method hasUncordonedDirs = named(BrokerRegistration.class, "hasUncordonedDirs");
        private final Map<Class<?>, Method> replays = new HashMap<>();
        private final boolean elr;
        private final MetadataVersion metadataVersion;

        /** Raises IllegalArgumentException for a metadata version that is unknown, or that has no ELR where it is on. */
        Release(Setup setup) throws IOException {
            this.elr = setup.elr;
            this.metadataVersion = metadataVersion(setup.metadataVersion);
            if (elr && !metadataVersion.isElrSupported()) {
                throw new IllegalArgumentException("the metadata version " + metadataVersion.version()
                    + " has no eligible leader replicas: they must be off");
            }
        }

        private MetadataVersion metadataVersion(String name) throws IOException {
            if (name.isEmpty()) {
                return newest();
            }
            List<String> names = new ArrayList<>();
            for (MetadataVersion version : MetadataVersion.values()) {
                if (version.version().equals(name)) {
                    return version;
                }
                names.add(version.version());
            }
            throw new IllegalArgumentException(
                "Kafka " + name() + " has no metadata version " + name + "; it has " + String.join(", ", names));
        }

        boolean knowsDirectories() {
            return metadataVersion.isDirectoryAssignmentSupported();
        }

        /** From 4.3 on, with its metadata version. */
        boolean cordons() {
            Method supported = named(MetadataVersion.class, "isCordonedLogDirsSupported");
            return supported != null && (boolean) call(supported, metadataVersion);
        }

        boolean isCordoned(BrokerRegistration registration) {
            return hasUncordonedDirs != null && !(boolean) call(hasUncordonedDirs, registration);
        }

        void cordon(RegisterBrokerRecord record, List<Uuid> directories) {
            call(setCordonedLogDirs, record, directories);
        }

        /** What the heartbeat of a broker with these directories cordoned brings. */
        void cordon(
            ReplicationControlManager replication,
            int id,
            long epoch,
            List<Uuid> directories,
            List<ApiMessageAndVersion> records
        ) {
            call(handleDirectoriesCordoned, replication, id, epoch, directories, records);
        }

        /** What the jars on the class path call themselves. */
        static String name() throws IOException {
            Properties properties = new Properties();
            try (InputStream in = ControllerDriver.class.getResourceAsStream("/kafka/kafka-version.properties")) {
                properties.load(in);
            }
            return properties.getProperty("version");
        }

        private static Method named(Class<?> owner, String name) {
            for (Method method : owner.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isBridge() && !method.isSynthetic()) {
                    method.setAccessible(true);
                    return method;
                }
            }
            return null;
        }

        private static Object call(Method method, Object owner, Object... arguments) {
            try {
                return method.invoke(owner, arguments);
            } catch (InvocationTargetException e) {
                if (e.getCause() instanceof RuntimeException) {
                    throw (RuntimeException) e.getCause();
                }
                throw new IllegalStateException(e.getCause());
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }

        /** LogContext, the constructor's argument, moves to another package in 4.4. */
        static SnapshotRegistry snapshotRegistry() throws Exception {
            Constructor<?> made = SnapshotRegistry.class.getConstructors()[0];
            Object logContext = made.getParameterTypes()[0].getConstructor().newInstance();
            return (SnapshotRegistry) made.newInstance(logContext);
        }

        /** Up to 4.0 the metadata version is set on the builder; from 4.1 on it is a record. */
        FeatureControlManager features(SnapshotRegistry snapshots) {
            FeatureControlManager.Builder builder = new FeatureControlManager.Builder().
                setSnapshotRegistry(snapshots).
                setQuorumFeatures(new QuorumFeatures(
                    0,
                    Map.of(
                        MetadataVersion.FEATURE_NAME, VersionRange.of((short) 1, Short.MAX_VALUE),
                        ELR_FEATURE, VersionRange.of((short) 0, (short) 1)),
                    List.of(0)));
            if (setMetadataVersion != null) {
                call(setMetadataVersion, builder, metadataVersion);
            }
            return builder.build();
        }

        /** The newest for production; in 3.9 ELR is there with the newest for testing only. */
        private MetadataVersion newest() {
            return elr && setElrEnabled != null ? MetadataVersion.latestTesting() : MetadataVersion.latestProduction();
        }

        /** The metadata version if it is a record, and from 4.0 on ELR, a feature of its own. */
        void startFeatures(FeatureControlManager features) {
            if (setMetadataVersion == null) {
                features.replay(new FeatureLevelRecord().
                    setName(MetadataVersion.FEATURE_NAME).
                    setFeatureLevel(metadataVersion.featureLevel()));
            }
            if (setElrEnabled == null && elr) {
                features.replay(new FeatureLevelRecord().setName(ELR_FEATURE).setFeatureLevel((short) 1));
            }
        }

        /** Up to 3.9 ELR is a switch of the builder. */
        void enableElr(ReplicationControlManager.Builder builder) {
            if (setElrEnabled != null) {
                call(setElrEnabled, builder, elr);
            }
        }

        /** From 4.0 on the configuration needs the features. */
        ConfigurationControlManager configuration(
            SnapshotRegistry snapshots, FeatureControlManager features, KafkaConfigSchema schema
        ) {
            ConfigurationControlManager.Builder builder = new ConfigurationControlManager.Builder().
                setSnapshotRegistry(snapshots).
                setKafkaConfigSchema(schema);
            Method setFeatures = named(ConfigurationControlManager.Builder.class, "setFeatureControl");
            if (setFeatures != null) {
                call(setFeatures, builder, features);
            }
            return builder.build();
        }

        /** The handler has another interface, and another setter, in each major release. */
        void onShutdown(ClusterControlManager.Builder builder, ShutdownHandler handler) {
            Method setter = named(ClusterControlManager.Builder.class, "setBrokerShutdownHandler");
            if (setter == null) {
                setter = named(ClusterControlManager.Builder.class, "setBrokerUncleanShutdownHandler");
            }
            Class<?> wanted = setter.getParameterTypes()[0];
            Object proxy = Proxy.newProxyInstance(wanted.getClassLoader(), new Class<?>[] {wanted}, (self, m, given) -> {
                boolean clean = given.length == 3 && (boolean) given[1];
                @SuppressWarnings("unchecked")
                List<ApiMessageAndVersion> records = (List<ApiMessageAndVersion>) given[given.length - 1];
                handler.handle((int) given[0], clean, records);
                return null;
            });
            call(setter, builder, proxy);
        }

        /** Up to 3.9 every new incarnation counts as unclean. */
        boolean detectsCleanShutdown() {
            return handleBrokerShutdown != null;
        }

        void handleShutdown(
            ReplicationControlManager replication, int id, boolean clean, List<ApiMessageAndVersion> records
        ) {
            if (handleBrokerShutdown != null) {
                call(handleBrokerShutdown, replication, id, clean, records);
            } else {
                call(handleBrokerUncleanShutdown, replication, id, records);
            }
        }

        void previousEpoch(BrokerRegistrationRequestData request, long epoch) {
            if (setPreviousBrokerEpoch != null) {
                call(setPreviousBrokerEpoch, request, epoch);
            }
        }

        /**
         * Of records that not every release has, such as the ClearElrRecord, which from 4.0 on comes with a change of
         * min.insync.replicas; or of one that only an old metadata version has, such as FenceBrokerRecord.
         */
        void replay(ApiMessage message, Object... managers) {
            for (Object manager : managers) {
                Method replay = replays.computeIfAbsent(message.getClass(), type -> replay(manager, type));
                if (replay != null && replay.getDeclaringClass() == manager.getClass()) {
                    call(replay, manager, message);
                    return;
                }
            }
            throw new IllegalStateException("no use for a " + message.getClass().getSimpleName());
        }

        private static Method replay(Object manager, Class<?> record) {
            for (Method method : manager.getClass().getMethods()) {
                if (method.getName().equals("replay") && method.getParameterTypes()[0] == record) {
                    return method;
                }
            }
            return null;
        }

        /** Whether the resource is new, and, in later releases, whether the change is only tried. */
        @SuppressWarnings("unchecked")
        ControllerResult<Map<ConfigResource, ApiError>> alterConfigs(ConfigurationControlManager owner, Object change) {
            Object[] arguments = new Object[incrementalAlterConfigs.getParameterCount()];
            Arrays.fill(arguments, false);
            arguments[0] = change;
            return (ControllerResult<Map<ConfigResource, ApiError>>) call(incrementalAlterConfigs, owner, arguments);
        }

        /** From 4.0 on with a fourth argument: whether clean shutdowns are detected. */
        ControllerResult<?> register(
            ClusterControlManager cluster,
            BrokerRegistrationRequestData request,
            long epoch,
            FinalizedControllerFeatures finalized
        ) {
            if (registerBroker.getParameterCount() == 3) {
                return (ControllerResult<?>) call(registerBroker, cluster, request, epoch, finalized);
            }
            return (ControllerResult<?>) call(registerBroker, cluster, request, epoch, finalized, true);
        }
    }
}
