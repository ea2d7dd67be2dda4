package org.apache.kafka.tools.reassign;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.clients.admin.PartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/**
 * What ReassignPartitionsCommand makes of a reassignment: the lists of throttled replicas, and the JSON that takes it
 * back. A line: for each partition topic:number:current:adding:target, replicas separated by commas.
 */
final class ToolDriver {
    private ToolDriver() {
    }

    private static List<Integer> numbers(String text) {
        List<Integer> found = new ArrayList<>();
        for (String word : text.split(",")) {
            if (!word.isEmpty()) {
                found.add(Integer.valueOf(word));
            }
        }
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<TopicPartition, PartitionReassignment> ongoing = new HashMap<>();
            Map<TopicPartition, List<Integer>> proposed = new HashMap<>();
            Map<TopicPartition, List<Integer>> current = new HashMap<>();
            for (String word : line.split(" ")) {
                String[] parts = word.split(":", -1);
                TopicPartition partition = new TopicPartition(parts[0], Integer.parseInt(parts[1]));
                List<Integer> replicas = numbers(parts[2]);
                List<Integer> adding = numbers(parts[3]);
                replicas.addAll(adding);
                current.put(partition, replicas);
                proposed.put(partition, numbers(parts[4]));
                if (!adding.isEmpty()) {
                    ongoing.put(partition, new PartitionReassignment(replicas, adding, List.of()));
                }
            }
            var moves = ReassignPartitionsCommand.calculateProposedMoveMap(ongoing, proposed, current);
            out.append(new TreeMap<>(ReassignPartitionsCommand.calculateLeaderThrottles(moves))).append("\t");
            out.append(new TreeMap<>(ReassignPartitionsCommand.calculateFollowerThrottles(moves))).append("\t");
            out.append(ReassignPartitionsCommand.formatAsReassignmentJson(current, Map.of())).append("\n");
        }
        System.out.print(out);
    }
}
