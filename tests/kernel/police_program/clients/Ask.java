// Asks 127.0.0.1 with Java's own client: as it is, which wants HTTP/2 by an upgrade, and of HTTP/1.1 with a body of 10 MB. Prints the
// statuses.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.TreeSet;

class Ask {
    public static void main(String[] words) throws Exception {
        var statuses = new TreeSet<Integer>();
        for (var version : HttpClient.Version.values()) {
            var client = HttpClient.newBuilder().version(version).build();
            for (int turn = 0; turn < 20; turn++) {
                var get = HttpRequest.newBuilder(URI.create("http://127.0.0.1/")).build();
                statuses.add(client.send(get, BodyHandlers.discarding()).statusCode());
            }
        }
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        var put = HttpRequest.newBuilder(URI.create("http://127.0.0.1/put")).PUT(BodyPublishers.ofFile(Path.of(words[0]))).build();
        statuses.add(client.send(put, BodyHandlers.discarding()).statusCode());
        System.out.println(statuses);
    }
}
