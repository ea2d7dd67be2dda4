package org.apache.kafka.controller;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.CreatePartitionsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The driver whose topic is deleted, created again, and given a second partition: partitions 0 and 1 of one topic.
 *
 * <p>{@link ControllerDriver} executes what concerns one partition. It is compiled without its {@code private}, and its
 * text is not changed: the answers that are kept of it are those of this text.
 *
 * <h2>Protocol</h2>
 * That of {@link ControllerDriver}, and {@code T} in place of {@code I}: a controller of this class. Then
 * <ul>
 *   <li>{@code D} has one step of 9 longs: the seven, the second partition, its epochs; the answer is 6 longs (state,
 *       epochs, incarnations, answer, second partition, its epochs) and the text.
 *   <li>{@code X} has n x 3 longs (state, settings, second partition); the answer is, for each state and command, two
 *       longs (state, second partition) and three ints (settings, answer, answer of the second partition).
 * </ul>
 *
 * <p>A state without replicas has no topic. The second partition is a word as {@link State} has it; 0: there is none; its
 * bits of brokers are left out, and in their place are {@link #LISTED_OTHERWISE} and {@link #REMEMBERED}. Nothing is
 * executed in a state that has one of these: what the controller holds is then not what the words say.
 *
 * <p>Every command of an expansion is executed by a controller that holds the state and nothing else: Kafka's own
 * snapshots bring it back to its beginning. A topic that is created again has another identity, the next number in place
 * of Kafka's random one.
 */
public final class TopicDriver extends ControllerDriver {
    private static final int DELETE_TOPIC = 27;
    private static final int CREATE_TOPIC = 28;
    private static final int ADD_PARTITION = 29;
    private static final int REASSIGN_BOTH = 30;
    private static final int OF_SECOND = 18;
    /** Of a request for both partitions: where the second target begins in the list; a target of no broker is a cancellation. */
    private static final int SECOND_TARGET = 18;
    private static final long TARGET = (1L << SECOND_TARGET) - 1;

    /** What ListPartitionReassignments answers is not what the partitions are. */
    private static final long LISTED_OTHERWISE = 1L << State.FENCED;
    /** The topic is gone, and an event of a broker or an election still finds something of it, or throws. */
    private static final long REMEMBERED = 1L << State.FENCED + 1;
    private static final long FLAWS = LISTED_OTHERWISE | REMEMBERED;
    private static final long BEGINNING = 0L;
    private static final Uuid FIRST_TOPIC_ID = new Uuid(1L, 1L);

    private final SnapshotRegistry snapshots;
    private final Method createSnapshot = Release.named(SnapshotRegistry.class, "getOrCreateSnapshot");
    private final Method createTopics = Release.named(ReplicationControlManager.class, "createTopics");

    /** The second partition, beside the brokers and settings of the first; null if there is none. */
    private State second = null;
    private long flaws = 0L;
    /** The error code of the second partition in the last answer to a request for both. */
    private Errors errorOfSecond = Errors.NONE;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // nothing but the protocol goes to standard output
        serve(System.in, out);
    }

    static void serve(InputStream input, OutputStream output) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(input, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(output, 1 << 16));
        out.writeUTF(Release.name());
        out.flush();
        ControllerDriver driver = null;
        long[][] commands = new long[0][];
        while (true) {
            int request = in.read();
            TopicDriver ofTopic = driver instanceof TopicDriver ? (TopicDriver) driver : null;
            switch (request) {
                case 'I':
                case 'T':
                    driver = null;
                    TOPIC_ID = FIRST_TOPIC_ID;
                    try {
                        Setup setup = new Setup(in);
                        driver = request == 'T' ? new TopicDriver(setup) : new ControllerDriver(setup);
                        out.writeUTF("");
                    } catch (IllegalArgumentException e) {
                        out.writeUTF(e.getMessage());
                    }
                    break;
                case 'S':
                    if (ofTopic != null) {
                        throw new IOException("no steps of a topic");
                    }
                    driver.steps(readLongs(in, 7), out);
                    break;
                case 'D':
                    if (ofTopic == null) {
                        driver.describe(readLongs(in, 7), out);
                    } else {
                        ofTopic.describe(readLongs(in, 9), out);
                    }
                    break;
                case 'C':
                    commands = readLongs(in, 2);
                    break;
                case 'X':
                    if (ofTopic == null) {
                        driver.expand(readLongs(in, 2), commands, out);
                    } else {
                        ofTopic.expand(readLongs(in, 3), commands, out);
                    }
                    break;
                case -1:
                    return;
                default:
                    throw new IOException("unknown request " + request);
            }
            out.flush();
        }
    }

    private TopicDriver(Setup setup) throws Exception {
        super(setup);
        Field registry = ReplicationControlManager.class.getDeclaredField("snapshotRegistry");
        registry.setAccessible(true);
        snapshots = (SnapshotRegistry) registry.get(replication);
        keepBeginning();
    }

    private void keepBeginning() {
        Release.call(createSnapshot, snapshots, BEGINNING);
    }

    // -- requests of the protocol -------------------------------------------------------------------------------

    @Override
    void describe(long[][] steps, DataOutputStream out) throws Exception {
        StringBuilder text = new StringBuilder();
        long[] step = steps[0];
        Command command = new Command(step[3], step[4], step[5], step[6]);
        if (command.setsState()) {
            set(step[0], step[1], step[2], step[7], step[8]);
        }
        long answer = execute(command, text);
        long epochs = second == null ? 0L : second.epochs;
        for (long word : new long[] {now.packed, now.epochs, now.incarnations, answer, wordOfSecond(), epochs}) {
            out.writeLong(word);
        }
        byte[] bytes = text.toString().getBytes("UTF-8");
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    @Override
    void expand(long[][] states, long[][] commands, DataOutputStream out) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(commands.length * (2 * Long.BYTES + 3 * Integer.BYTES));
        for (long[] state : states) {
            bytes.clear();
            for (long[] command : commands) {
                answer(state, new Command(command[0], command[1], 0L, 0L), bytes);
            }
            out.write(bytes.array());
        }
    }

    private void answer(long[] state, Command command, ByteBuffer bytes) throws Exception {
        if ((state[2] & FLAWS) != 0) {
            bytes.putLong(state[0]).putLong(state[2]).putInt((int) state[1]).putInt((int) Answer.NOT_APPLICABLE).putInt(0);
            return;
        }
        long epochs = State.epochs(EPOCHS_OF_EXPANSION, EPOCHS_OF_EXPANSION);
        set(state[0], epochs, state[1], state[2], epochs);
        boolean first = exists(now);
        boolean other = second != null;
        errorOfSecond = Errors.NONE;
        long answer = execute(command, null);
        if (first && exists(now)) {
            answer = Answer.withRises(answer, now, EPOCHS_OF_EXPANSION);
        }
        long ofSecond = (long) errorOfSecond.code() << 16;
        if (other && second != null) {
            ofSecond |= Answer.withRises(0L, second, EPOCHS_OF_EXPANSION) >> 24;
        }
        bytes.putLong(now.packed).putLong(wordOfSecond()).putInt((int) (now.incarnations & State.SETTINGS));
        bytes.putInt((int) answer).putInt((int) ofSecond);
    }

    private long wordOfSecond() {
        return (second == null ? 0L : second.packed & State.PARTITION) | flaws;
    }

    // -- the state ----------------------------------------------------------------------------------------------

    private static boolean exists(State state) {
        return (state.packed & TARGET) != 0;
    }

    /** Makes the controller hold a state and nothing else. */
    private void set(long packed, long epochs, long incarnations, long packedSecond, long epochsOfSecond) throws Exception {
        snapshots.revertToSnapshot(BEGINNING);
        snapshots.deleteSnapshot(BEGINNING); // else it keeps every table that there ever was
        keepBeginning();
        TOPIC_ID = FIRST_TOPIC_ID;
        now = null;
        second = null;
        flaws = 0L;
        State wanted = new State(packed, epochs, incarnations);
        if (!exists(wanted)) {
            setBrokers(wanted);
            replay(new RemoveTopicRecord().setTopicId(TOPIC_ID));
            now = wanted;
            return;
        }
        set(packed, epochs, incarnations);
        if (packedSecond != 0) {
            second = new State(packedSecond & State.PARTITION | packed & ~State.PARTITION, epochsOfSecond, incarnations);
            replay(located(second.record(1)));
        }
    }

    private void setBrokers(State wanted) throws Exception {
        for (int id = 1; id <= brokers; id++) {
            if (wanted.isRegistered(id)) {
                replay(registration(id, wanted.incarnation(id), wanted.isFenced(id), wanted.isShuttingDown(id),
                    wanted.isCordoned(id)));
            }
        }
    }

    @Override
    void read() {
        long fenced = 0L;
        long shuttingDown = 0L;
        long incarnations = now.incarnations & State.MIN_ISR_BITS;
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
        boolean unclean = now.isUnclean();
        PartitionRegistration[] partitions = {
            replication.getPartition(TOPIC_ID, 0), replication.getPartition(TOPIC_ID, 1)};
        State[] states = new State[2];
        for (int i = 0; i < 2; i++) {
            PartitionRegistration p = partitions[i];
            states[i] = p == null ? null : new State(
                State.packed(p, fenced, shuttingDown, unclean), State.epochs(p.leaderEpoch, p.partitionEpoch), incarnations);
        }
        long ofBrokers = fenced << State.FENCED | shuttingDown << State.SHUTTING_DOWN | (unclean ? 1L << State.UNCLEAN : 0L);
        now = states[0] != null ? states[0] : new State(ofBrokers, 0L, incarnations);
        second = states[1];
        flaws = (listedAsTheyAre(partitions) ? 0L : LISTED_OTHERWISE)
            | (states[0] != null || forgotten() ? 0L : REMEMBERED);
    }

    /** Whether ListPartitionReassignments answers with the partitions that are being reassigned, as they are. */
    private boolean listedAsTheyAre(PartitionRegistration[] partitions) {
        Map<Integer, List<List<Integer>>> listed = new TreeMap<>();
        Map<Integer, List<List<Integer>>> present = new TreeMap<>();
        try {
            for (var topic : replication.listPartitionReassignments(null, Long.MAX_VALUE).topics()) {
                for (var p : topic.partitions()) {
                    listed.put(p.partitionIndex(), List.of(p.replicas(), p.addingReplicas(), p.removingReplicas()));
                }
            }
        } catch (RuntimeException e) {
            return false;
        }
        for (int i = 0; i < partitions.length; i++) {
            PartitionRegistration p = partitions[i];
            if (p != null && p.addingReplicas.length + p.removingReplicas.length > 0) {
                present.put(i, List.of(ids(p.replicas), ids(p.addingReplicas), ids(p.removingReplicas)));
            }
        }
        return listed.equals(present);
    }

    private static List<Integer> ids(int[] ids) {
        List<Integer> list = new ArrayList<>();
        for (int id : ids) {
            list.add(id);
        }
        return list;
    }

    /** Whether no event of a broker and no election finds anything of a topic that is gone; none is carried out. */
    private boolean forgotten() {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        try {
            for (int id = 1; id <= brokers; id++) {
                if (cluster.brokerRegistrations().containsKey(id)) {
                    replication.handleBrokerFenced(id, records);
                    replication.handleBrokerUnfenced(id, epochOf(id), records);
                    release.handleShutdown(replication, id, false, records);
                }
            }
            records.addAll(replication.maybeElectUncleanLeaders().records());
            records.addAll(replication.maybeBalancePartitionLeaders().records());
            records.addAll(replication.electLeaders(
                new ElectLeadersRequestData().setElectionType((byte) 0).setTopicPartitions(null)).records());
        } catch (RuntimeException e) {
            return false;
        }
        return records.stream().noneMatch(record -> record.message() instanceof PartitionChangeRecord)
            && !replication.arePartitionLeadersImbalanced();
    }

    @Override
    void putElrIndexRight() {
        super.putElrIndexRight();
        if (second != null) {
            watchingSecond(() -> {
                super.putElrIndexRight();
                return null;
            });
        }
    }

    // -- commands -----------------------------------------------------------------------------------------------

    private interface Watching<T> {
        T result();
    }

    /** Something that is done with the second partition in place of the first. */
    private <T> T watchingSecond(Watching<T> done) {
        State first = now;
        now = second;
        index = 1;
        try {
            return done.result();
        } finally {
            now = first;
            index = 0;
        }
    }

    private static boolean ofSecond(Command command) {
        return (command.word >> OF_SECOND & 1) != 0;
    }

    @Override
    boolean applies(Command command) {
        switch (command.kind()) {
            case DELETE_TOPIC:
                return exists(now);
            case CREATE_TOPIC:
                return !exists(now);
            case ADD_PARTITION:
                return exists(now) && second == null;
            case REASSIGN_BOTH:
                return exists(now);
            case Command.CHANGE_MIN_ISR:
            case Command.CHANGE_UNCLEAN:
            case Command.ASSIGN_DIRECTORY:
                return exists(now) && super.applies(command);
            default:
                return ofSecond(command) ? second != null && watchingSecond(() -> super.applies(command))
                    : super.applies(command);
        }
    }

    @Override
    Errors call(Command command, List<ApiMessageAndVersion> records) {
        switch (command.kind()) {
            case DELETE_TOPIC:
                return deleteTopic(records);
            case CREATE_TOPIC:
                return createTopic(State.list(command.list), records);
            case ADD_PARTITION:
                return addPartition(State.list(command.list), records);
            case REASSIGN_BOTH:
                return reassignBoth(command.list, records);
            default:
                return ofSecond(command) ? watchingSecond(() -> super.call(command, records))
                    : super.call(command, records);
        }
    }

    private static ControllerRequestContext context(ApiKeys key) {
        RequestHeaderData header = new RequestHeaderData().
            setRequestApiKey(key.id).
            setRequestApiVersion(key.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    private Errors deleteTopic(List<ApiMessageAndVersion> records) {
        var result = replication.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(TOPIC_ID));
        records.addAll(result.records());
        return result.response().get(TOPIC_ID).error();
    }

    /** CreateTopics with one partition on these brokers, and with the configuration that the topic had before. */
    @SuppressWarnings("unchecked")
    private Errors createTopic(List<Integer> replicas, List<ApiMessageAndVersion> records) {
        var assignments = new CreateTopicsRequestData.CreatableReplicaAssignmentCollection();
        assignments.add(new CreateTopicsRequestData.CreatableReplicaAssignment().
            setPartitionIndex(0).setBrokerIds(replicas));
        var configs = new CreateTopicsRequestData.CreatableTopicConfigCollection();
        configs.add(new CreateTopicsRequestData.CreatableTopicConfig().
            setName(MIN_ISR_CONFIG).setValue(Integer.toString(now.minIsr(minIsr))));
        configs.add(new CreateTopicsRequestData.CreatableTopicConfig().
            setName(UNCLEAN_CONFIG).setValue(Boolean.toString(now.isUnclean())));
        var topics = new CreateTopicsRequestData.CreatableTopicCollection();
        topics.add(new CreateTopicsRequestData.CreatableTopic().
            setName(TOPIC).
            setNumPartitions(-1).
            setReplicationFactor((short) -1).
            setAssignments(assignments).
            setConfigs(configs));
        List<Object> arguments = new ArrayList<>(List.of(
            context(ApiKeys.CREATE_TOPICS), new CreateTopicsRequestData().setTopics(topics), Set.of()));
        while (arguments.size() < createTopics.getParameterCount()) {
            arguments.add(false); // from 4.3 on: whether a broker has forwarded the request
        }
        var result = (ControllerResult<CreateTopicsResponseData>)
            Release.call(createTopics, replication, arguments.toArray());
        if (!result.records().isEmpty()) {
            TOPIC_ID = new Uuid(1L, TOPIC_ID.getLeastSignificantBits() + 1);
        }
        for (ApiMessageAndVersion record : result.records()) {
            if (record.message() instanceof TopicRecord) {
                ((TopicRecord) record.message()).setTopicId(TOPIC_ID);
            } else if (record.message() instanceof PartitionRecord) {
                ((PartitionRecord) record.message()).setTopicId(TOPIC_ID);
            }
        }
        records.addAll(result.records());
        var answer = result.response().topics().iterator().next();
        message = answer.errorMessage();
        return Errors.forCode(answer.errorCode());
    }

    /** CreatePartitions: a second partition on these brokers. */
    private Errors addPartition(List<Integer> replicas, List<ApiMessageAndVersion> records) {
        var assignment = new CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(replicas);
        var result = replication.createPartitions(context(ApiKeys.CREATE_PARTITIONS), List.of(
            new CreatePartitionsRequestData.CreatePartitionsTopic().
                setName(TOPIC).setCount(2).setAssignments(List.of(assignment))));
        records.addAll(result.records());
        var answer = result.response().get(0);
        message = answer.errorMessage();
        return Errors.forCode(answer.errorCode());
    }

    /** One AlterPartitionReassignments for both partitions, each with a target of its own, or a cancellation. */
    private Errors reassignBoth(long targets, List<ApiMessageAndVersion> records) {
        List<ReassignablePartition> partitions = new ArrayList<>();
        for (int each = 0; each < 2; each++) {
            long target = targets >> each * SECOND_TARGET & TARGET;
            partitions.add(new ReassignablePartition().
                setPartitionIndex(each).
                setReplicas(target == 0 ? null : State.list(target)));
        }
        var result = replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData().
            setTopics(List.of(new ReassignableTopic().setName(TOPIC).setPartitions(partitions))));
        records.addAll(result.records());
        var answers = result.response().responses().get(0).partitions();
        message = answers.get(0).errorMessage();
        errorOfSecond = Errors.forCode(answers.get(1).errorCode());
        return Errors.forCode(answers.get(0).errorCode());
    }
}
