import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Runs TLC again and again in one process: a line of input is TLC's arguments, separated by tabs; the answer is what TLC
 * prints, and a line with END. TLC keeps its state in static fields, so that each run has its classes to itself.
 */
class TlcServer {
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        URL[] jar = {new File(arguments[0]).toURI().toURL()};
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream out = new PrintStream(printed, true, "UTF-8");
            System.setOut(out);
            System.setErr(out);
            try (URLClassLoader loader = new URLClassLoader(jar, ClassLoader.getPlatformClassLoader())) {
                Thread.currentThread().setContextClassLoader(loader);
                Class<?> type = loader.loadClass("tlc2.TLC");
                Object tlc = type.getConstructor().newInstance();
                Object[] words = {line.split("\t")};
                if ((boolean) type.getMethod("handleParameters", String[].class).invoke(tlc, words)) {
                    Class<?> files = loader.loadClass("util.FilenameToStream");
                    Object found = loader.loadClass("util.SimpleFilenameToStream").getConstructor().newInstance();
                    type.getMethod("setResolver", files).invoke(tlc, found);
                    type.getMethod("process").invoke(tlc);
                }
            } catch (ReflectiveOperationException error) {
                error.printStackTrace(out);
            }
            out.flush();
            answers.write(printed.toByteArray());
            answers.println("END");
            answers.flush();
        }
        System.exit(0); // threads of TLC may still be there
    }
}
