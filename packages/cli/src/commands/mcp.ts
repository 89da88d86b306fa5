/** Declares `skein mcp`. */
import { command } from "../CommandSpec.ts"
import {
  attachFlags,
  databaseFlags,
  directoryFlags,
  formatFlags,
  listingFlags,
  verboseFlags
} from "../internal/flags.ts"

const loadList = () => import("../internal/mcpCommands/list.ts").then(({ listServers }) => listServers)

const loadEdit = () => import("../internal/mcpCommands/edit.ts")

const loadLogin = () => import("../internal/mcpCommands/login.ts")

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const projectFlags = {
  project: { type: "switch", description: "Changes the skein.json of this project instead of your own" },
  ...directoryFlags,
  ...verboseFlags
} as const

const list = command({
  name: "list",
  summary: "Lists the MCP servers that apply here, with the file that defines each",
  flags: listFlags,
  load: loadList
})

const add = command({
  name: "add",
  summary: "Adds a server to your skein.json: `skein mcp add NAME URL`, or `skein mcp add NAME -- PROGRAM…`",
  details:
    "Write `${NAME}` for a variable of your environment, so that no secret is in the file. Keeps comments.\nThen try it: `skein mcp test NAME`.",
  operands: { usage: "NAME URL|PROGRAM…", least: 2, most: Infinity },
  flags: {
    env: { type: "text", value: "NAME=VALUE", many: true, description: "A variable that the program sees; repeatable" },
    header: {
      type: "text",
      value: "NAME: VALUE",
      many: true,
      description: "A header of each request to a URL; repeatable"
    },
    sse: { type: "switch", description: "The URL speaks the older HTTP with SSE" },
    ...projectFlags
  },
  load: () => loadEdit().then(({ addServer }) => addServer)
})

const remove = command({
  name: "remove",
  summary: "Removes a server from your skein.json",
  operands: { usage: "NAME", least: 1, most: 1 },
  flags: projectFlags,
  load: () => loadEdit().then(({ removeServer }) => removeServer)
})

const test = command({
  name: "test",
  summary: "Connects to a server; shows its protocol revision, its tools and the time that it took",
  operands: { usage: "NAME", least: 1, most: 1 },
  flags: { ...formatFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/mcpCommands/test.ts").then(({ testServer }) => testServer)
})

const login = command({
  name: "login",
  summary: "Signs in to a server that asks for it, over OAuth",
  details: "Shows the page to sign in on and opens it in a browser. Keeps the tokens under the URL of the server.",
  operands: { usage: "NAME", least: 1, most: 1 },
  flags: {
    "no-open": { type: "switch", description: "Shows the page, and opens no browser" },
    ...directoryFlags,
    ...verboseFlags
  },
  load: () => loadLogin().then(({ loginServer }) => loginServer)
})

const logout = command({
  name: "logout",
  summary: "Forgets the tokens of a server",
  operands: { usage: "NAME", least: 1, most: 1 },
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => loadLogin().then(({ logoutServer }) => logoutServer)
})

const serve = command({
  name: "serve",
  summary: "Serves a client of MCP over standard input and output, which delegates tasks to agents",
  details: "A client such as Claude Code starts this itself. See docs/mcp-server.md.",
  flags: { ...directoryFlags, ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => import("../internal/mcpServe/execute.ts").then(({ executeMcpServe }) => executeMcpServe)
})

/** Lists, adds, removes and tries MCP servers, and is one. */
export const mcp = command({
  name: "mcp",
  summary: "Manages the MCP servers of agents, and serves MCP clients",
  flags: listFlags,
  commands: [list, add, remove, test, login, logout, serve],
  load: loadList
})
