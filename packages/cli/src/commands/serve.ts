/** `skein serve` and `skein acp`: serve others. What they stand on is loaded when they are called. */
import { commandBody } from "../CommandSpec.ts"
import { acpFlags, databaseFlags } from "../internal/flags.ts"

/** Serves the sessions of a database over HTTP. */
export const serve = commandBody({
  details:
    "Prints its URL, with a login code that works once, within a minute.\nOther programs find it by a file that only you can read. See docs/server.md.",
  flags: {
    port: { type: "port", description: "The port; a free one by default" },
    hostname: {
      type: "text",
      value: "ADDRESS",
      description: "The address to listen on; 127.0.0.1 by default. Others need --token-file"
    },
    "public-url": {
      type: "text",
      value: "URL",
      description: "The address at which a proxy serves it, such as https://skein.example"
    },
    "token-file": {
      type: "text",
      value: "FILE",
      completes: "file",
      description: "Takes the token from this file instead of a new one"
    },
    open: { type: "switch", description: "Opens the page in a browser" },
    "no-resume": { type: "switch", description: "Leaves interrupted work alone" },
    cluster: { type: "switch", description: "Shares the PostgreSQL database with other servers, as one of them" },
    "cluster-secret-file": {
      type: "text",
      value: "FILE",
      completes: "file",
      description: "File with the cluster's secret; required if other machines can reach --hostname"
    },
    detach: { type: "switch", description: "Starts the server in the background" },
    url: { type: "switch", description: "Prints the URL of the running server, with a new login code" },
    stop: { type: "switch", description: "Ends the running server; the next one resumes its open turns" },
    ...databaseFlags
  },
  load: () => import("../internal/serve/execute.ts").then(({ executeServe }) => executeServe)
})

/** Serves one editor over standard input and output. */
export const acp = commandBody({
  details: "Editors start it themselves. docs/editors.md says how to set up Zed, JetBrains, Neovim and Emacs.",
  flags: acpFlags,
  load: () => import("../internal/acp/execute.ts").then(({ executeAcp }) => executeAcp)
})
