package org.apache.kafka.controller;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.NoOpRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Writes what the controller's driver replays as a segment of a metadata log, by Kafka's own classes. */
final class LogWriter {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();
    private static FileOutputStream file = null;
    private static long offset = 0;
    private static boolean isExecuting = false;

    private LogWriter() {
    }

    /** Records that a command is answered with: one batch. */
    static void answered(List<ApiMessageAndVersion> records) {
        isExecuting = true;
        if (!records.isEmpty()) {
            write(records);
        }
    }

    static void done() {
        isExecuting = false;
    }

    /** A record that is replayed; one of an answer is written already. */
    static void replayed(ApiMessage message) {
        if (!isExecuting) {
            write(List.of(new ApiMessageAndVersion(message, message.highestSupportedVersion())));
        }
    }

    private static void write(List<ApiMessageAndVersion> records) {
        try {
            if (file == null) {
                file = new FileOutputStream(System.getProperty("log.file"));
                write(List.of(new ApiMessageAndVersion(new NoOpRecord(), (short) 0)));
                for (String feature : System.getProperty("log.features", "").split(",")) {
                    if (!feature.isEmpty()) {
                        String[] pair = feature.split("=");
                        write(List.of(new ApiMessageAndVersion(
                            new FeatureLevelRecord().setName(pair[0]).setFeatureLevel(Short.parseShort(pair[1])), (short) 0)));
                    }
                }
            }
            SimpleRecord[] values = new SimpleRecord[records.size()];
            for (int i = 0; i < values.length; i++) {
                ObjectSerializationCache cache = new ObjectSerializationCache();
                ByteBuffer value = ByteBuffer.allocate(SERDE.recordSize(records.get(i), cache));
                SERDE.write(records.get(i), cache, new ByteBufferAccessor(value));
                values[i] = new SimpleRecord(1_700_000_000_000L + 1000 * offset, null, value.array());
            }
            MemoryRecords batch = MemoryRecords.withRecords(offset, Compression.NONE, 1, values);
            ByteBuffer bytes = batch.buffer();
            file.getChannel().write(bytes);
            offset += values.length;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
