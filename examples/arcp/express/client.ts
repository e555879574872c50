/** It does not care what the server is made of. */
import "../node/client.ts";
