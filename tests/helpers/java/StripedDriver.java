import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/** Assignments by Kafka's StripedReplicaPlacer. A line: racks ("-": none; "!": fenced), partitions, replicas, step. */
final class StripedDriver {
    private StripedDriver() {
    }

    /** Numbers that go round: the n-th below a bound is n times a step, modulo the bound. */
    static final class Chosen extends Random {
        private final int step;
        private int drawn = 0;

        Chosen(int step) {
            this.step = step;
        }

        @Override
        public int nextInt(int bound) {
            return step * drawn++ % bound;
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            List<UsableBroker> brokers = new ArrayList<>();
            for (String each : words[0].split(",")) {
                String rack = each.replace("!", "");
                Optional<String> known = rack.equals("-") ? Optional.empty() : Optional.of(rack);
                brokers.add(new UsableBroker(brokers.size(), known, each.endsWith("!")));
            }
            ClusterDescriber cluster = new ClusterDescriber() {
                @Override
                public Iterator<UsableBroker> usableBrokers() {
                    return brokers.iterator();
                }

                @Override
                public Uuid defaultDir(int broker) {
                    return Uuid.ZERO_UUID;
                }
            };
            PlacementSpec asked = new PlacementSpec(0, Integer.parseInt(words[1]), Short.parseShort(words[2]));
            try {
                out.append(new StripedReplicaPlacer(new Chosen(Integer.parseInt(words[3]))).place(asked, cluster)
                    .assignments().stream()
                    .map(p -> p.replicas().stream().map(String::valueOf).collect(Collectors.joining(",")))
                    .collect(Collectors.joining(" ")));
            } catch (RuntimeException refused) {
                out.append("refused");
            }
            out.append("\n");
        }
        System.out.print(out);
    }
}
