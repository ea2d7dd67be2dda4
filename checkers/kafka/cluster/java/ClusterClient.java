import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own admin client, producer and consumer, commanded by lines of fields that tabs separate.
 *
 * <p>Arguments: the brokers' addresses, the controller's (empty: brokers forward every request). Each line has one answer: {@code ok} with values, or
 * {@code error} with the name of Kafka's error and its text. Requests about assignments and configurations go to the
 * controller, so that a paused broker does not delay them. Partition 0 of a topic is used.
 */
public final class ClusterClient {
    private static final int SECONDS = 30;
    /** Longest wait for the acknowledgement of a record before a run, and during it. */
    private static final int ACKNOWLEDGED_WITHIN_MS = 60_000;
    private static final int FED_WITHIN_MS = 10_000;

    private final String brokers;
    private final Admin admin;
    private final Admin controller;
    private final Map<String, Topic> topics = new HashMap<>();
    private Feed feed;

    private ClusterClient(String brokers, String controller) {
        this.brokers = brokers;
        this.admin = Admin.create(Map.of("bootstrap.servers", brokers, "default.api.timeout.ms", SECONDS * 1000));
        this.controller = controller.isEmpty() ? admin : Admin.create(
            Map.of("bootstrap.controllers", controller, "default.api.timeout.ms", SECONDS * 1000));
    }

    /** Records of a topic, by number. */
    private static final class Topic {
        final BitSet acknowledged = new BitSet();
        int sent;
        int failed;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        ClusterClient client = new ClusterClient(args[0], args[1]);
        out.println("ok\t" + version());
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(client.answer(line.split("\t", -1)));
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** The version of Kafka that the class path states first. */
    private static String version() throws Exception {
        Properties properties = new Properties();
        try (InputStream in = Admin.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    private String answer(String[] words) {
        try {
            List<String> values = carryOut(words);
            return values.isEmpty() ? "ok" : "ok\t" + String.join("\t", values);
        } catch (ExecutionException e) {
            return error(e.getCause());
        } catch (Exception e) {
            return error(e);
        }
    }

    private static String error(Throwable e) {
        Errors error = Errors.forException(e);
        String name = error == Errors.UNKNOWN_SERVER_ERROR ? e.getClass().getSimpleName() : error.name();
        return "error\t" + name + "\t" + String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
    }

    private List<String> carryOut(String[] w) throws Exception {
        switch (w[0]) {
            case "create":
                admin.createTopics(List.of(new NewTopic(w[1], Map.of(0, ids(w[2]))).configs(settings(w[3])))).all().get();
                topics.put(w[1], new Topic());
                return List.of();
            case "reassign":
                reassign(w[1], Optional.of(new NewPartitionReassignment(ids(w[2]))));
                return List.of();
            case "cancel":
                reassign(w[1], Optional.empty());
                return List.of();
            case "listed":
                return listed(w[1]);
            case "set":
                set(ConfigResource.Type.valueOf(w[1]), w[2], settings(w[3]));
                return List.of();
            case "elect":
                admin.electLeaders(ElectionType.valueOf(w[2]), Set.of(new TopicPartition(w[1], 0))).all().get();
                return List.of();
            case "produce":
                return produce(w[1], Integer.parseInt(w[2]), Integer.parseInt(w[3]), w[4]);
            case "feed":
                feed = new Feed(w[1], Integer.parseInt(w[2]), Integer.parseInt(w[3]));
                feed.start();
                return List.of();
            case "stop":
                if (feed != null) {
                    feed.end();
                    feed = null;
                }
                return counts(topics.get(w[1]));
            case "end":
                return numbers(endOffset(w[1]));
            case "consume":
                return consume(w[1], Integer.parseInt(w[2]));
            default:
                throw new IllegalArgumentException("unknown command " + w[0]);
        }
    }

    private void reassign(String topic, Optional<NewPartitionReassignment> target) throws Exception {
        controller.alterPartitionReassignments(Map.of(new TopicPartition(topic, 0), target)).all().get();
    }

    /** Replicas, adding and removing ones, if the reassignment is listed. */
    private List<String> listed(String topic) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        var all = controller.listPartitionReassignments(Set.of(partition)).reassignments().get();
        var one = all.get(partition);
        return one == null ? List.of() : List.of(
            text(one.replicas()), text(one.addingReplicas()), text(one.removingReplicas()));
    }

    private void set(ConfigResource.Type type, String name, Map<String, String> values) throws Exception {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        values.forEach((key, value) -> changes.add(new AlterConfigOp(
            new ConfigEntry(key, value),
            value.isEmpty() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
        controller.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), changes)).all().get();
    }

    private KafkaProducer<byte[], byte[]> producer(String acks, int withinMs) {
        return new KafkaProducer<>(
            Map.of("bootstrap.servers", brokers, "acks", acks, "linger.ms", 5, "max.block.ms", withinMs,
                "request.timeout.ms", withinMs / 2, "delivery.timeout.ms", withinMs),
            new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** The content of a record: its number, and bytes that follow from it. */
    private static byte[] content(int number, int size) {
        byte[] bytes = new byte[Math.max(size, 12)];
        byte[] digits = String.format("%010d ", number).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(digits, 0, bytes, 0, digits.length);
        for (int i = digits.length; i < bytes.length; i++) {
            bytes[i] = (byte) ('a' + (number * 31 + i) % 26);
        }
        return bytes;
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String name, Topic topic, int size,
                             AtomicReference<Exception> first) {
        int number;
        synchronized (topic) {
            number = topic.sent++;
        }
        producer.send(new ProducerRecord<>(name, 0, null, content(number, size)), (metadata, exception) -> {
            synchronized (topic) {
                if (exception == null) {
                    topic.acknowledged.set(number);
                } else {
                    topic.failed++;
                    first.compareAndSet(null, exception);
                }
            }
        });
    }

    private List<String> produce(String name, int count, int size, String acks) {
        Topic topic = topics.get(name);
        AtomicReference<Exception> first = new AtomicReference<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(acks, ACKNOWLEDGED_WITHIN_MS)) {
            for (int i = 0; i < count; i++) {
                send(producer, name, topic, size, first);
            }
            producer.flush();
        }
        return counts(topic);
    }

    /** Sent, acknowledged, refused or not acknowledged in time. */
    private static List<String> counts(Topic topic) {
        synchronized (topic) {
            return numbers(topic.sent, topic.acknowledged.cardinality(), topic.failed);
        }
    }

    /** Produces all the time, a few records a second. */
    private final class Feed extends Thread {
        private final String name;
        private final int size;
        private final int perSecond;
        private volatile boolean ends;

        Feed(String name, int size, int perSecond) {
            this.name = name;
            this.size = size;
            this.perSecond = perSecond;
            setDaemon(true);
        }

        @Override
        public void run() {
            Topic topic = topics.get(name);
            AtomicReference<Exception> first = new AtomicReference<>();
            try (KafkaProducer<byte[], byte[]> producer = producer("all", FED_WITHIN_MS)) {
                while (!ends) {
                    send(producer, name, topic, size, first);
                    Thread.sleep(1000 / perSecond);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        void end() throws InterruptedException {
            ends = true;
            join(2L * FED_WITHIN_MS);
        }
    }

    /** Of the acknowledged records: all, those left, those lost, those with another content; and the end offset. */
    private List<String> consume(String name, int seconds) {
        Topic topic = topics.get(name);
        TopicPartition partition = new TopicPartition(name, 0);
        BitSet seen = new BitSet();
        int different = 0;
        long end;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
            Map.of("bootstrap.servers", brokers, "enable.auto.commit", "false", "auto.offset.reset", "earliest",
                "default.api.timeout.ms", seconds * 1000),
            new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            end = consumer.endOffsets(List.of(partition), Duration.ofSeconds(seconds)).get(partition);
            long until = System.currentTimeMillis() + seconds * 1000L;
            while (consumer.position(partition) < end) {
                if (System.currentTimeMillis() > until) {
                    throw new IllegalStateException("offset " + consumer.position(partition) + " of " + end
                        + " was reached within " + seconds + " s");
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    byte[] value = record.value();
                    int number = Integer.parseInt(new String(value, 0, 10, StandardCharsets.US_ASCII));
                    if (seen.get(number) || !Arrays.equals(value, content(number, value.length))) {
                        different++;
                    }
                    seen.set(number);
                }
            }
        }
        synchronized (topic) {
            int acknowledged = topic.acknowledged.cardinality();
            BitSet left = (BitSet) topic.acknowledged.clone();
            left.and(seen);
            return numbers(acknowledged, left.cardinality(), acknowledged - left.cardinality(), different, end);
        }
    }

    /** The end offset that a consumer sees: the high watermark. */
    private long endOffset(String name) {
        TopicPartition partition = new TopicPartition(name, 0);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
            Map.of("bootstrap.servers", brokers), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            return consumer.endOffsets(List.of(partition), Duration.ofSeconds(SECONDS)).get(partition);
        }
    }

    private static List<String> numbers(long... values) {
        List<String> texts = new ArrayList<>();
        for (long value : values) {
            texts.add(Long.toString(value));
        }
        return texts;
    }

    private static List<Integer> ids(String text) {
        List<Integer> ids = new ArrayList<>();
        for (String id : text.split(",")) {
            ids.add(Integer.valueOf(id));
        }
        return ids;
    }

    private static String text(Collection<Integer> ids) {
        StringBuilder text = new StringBuilder();
        for (Integer id : ids) {
            text.append(text.length() == 0 ? "" : ",").append(id);
        }
        return text.toString();
    }

    /** Settings as {@code key=value key=value}. */
    private static Map<String, String> settings(String text) {
        Map<String, String> values = new HashMap<>();
        for (String pair : text.isEmpty() ? new String[0] : text.split(" ")) {
            int at = pair.indexOf('=');
            values.put(pair.substring(0, at), pair.substring(at + 1));
        }
        return values;
    }
}
