import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;

import kafka.server.ReplicationQuotaManager;

import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;
import org.apache.kafka.server.quota.QuotaType;

/**
 * When Kafka's ReplicationQuotaManager refuses. A line: samples, bytes in a second, then fetches as milliseconds:bytes.
 * Each fetch asks, and is counted if it is not refused. The answer has a letter for each: "." or "x" for refused.
 */
final class QuotaDriver {
    private static long now = 0;

    private QuotaDriver() {
    }

    public static void main(String[] arguments) throws Exception {
        Time clock = (Time) Proxy.newProxyInstance(QuotaDriver.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, given) -> method.getName().equals("nanoseconds") ? now * 1_000_000L : now);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            now = 0;
            Metrics metrics = new Metrics(clock);
            var config = new ReplicationQuotaManagerConfig(Integer.parseInt(words[0]), 1);
            var manager = new ReplicationQuotaManager(config, metrics, QuotaType.LEADER_REPLICATION, clock);
            manager.updateQuota(Quota.upperBound(Long.parseLong(words[1])));
            for (int i = 2; i < words.length; i++) {
                String[] fetch = words[i].split(":");
                now = Long.parseLong(fetch[0]);
                boolean refused = manager.isQuotaExceeded();
                out.append(refused ? 'x' : '.');
                if (!refused) {
                    manager.record(Long.parseLong(fetch[1]));
                }
            }
            out.append("\n");
            metrics.close();
        }
        System.out.print(out);
    }
}
