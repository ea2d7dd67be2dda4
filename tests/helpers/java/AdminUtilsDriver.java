import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

/** Assignments by Kafka's AdminUtils. A line: racks ("-": none), partitions, replicas, start index, first partition. */
final class AdminUtilsDriver {
    private AdminUtilsDriver() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            List<BrokerMetadata> brokers = new ArrayList<>();
            for (String rack : words[0].split(",")) {
                brokers.add(new BrokerMetadata(brokers.size(), rack.equals("-") ? Optional.empty() : Optional.of(rack)));
            }
            int partitions = Integer.parseInt(words[1]);
            int first = Integer.parseInt(words[4]);
            var made = AdminUtils.assignReplicasToBrokers(
                brokers, partitions, Integer.parseInt(words[2]), Integer.parseInt(words[3]), first);
            for (int partition = first; partition < first + partitions; partition++) {
                out.append(made.get(partition).stream().map(String::valueOf).collect(Collectors.joining(",")));
                out.append(partition + 1 < first + partitions ? " " : "\n");
            }
        }
        System.out.print(out);
    }
}
