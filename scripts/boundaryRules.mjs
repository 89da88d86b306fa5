// @ts-check
// What the architecture check holds: which package may import which, the floors within a package, and how long a file may be.

/**
 * The arrow: domain <- core <- {tools, provider, offline, storage, config, cluster, mcp} <- {server, cli}. `api` stands on domain,
 * `client` and `view` on api, `backend` on core and client. `testing` stands beside the second group, and nothing but
 * tests imports it.
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
export const arrow = {
  domain: [],
  view: ["domain", "api"],
  web: ["domain", "api", "view"],
  core: ["domain"],
  tools: ["domain", "core"],
  provider: ["domain", "core"],
  offline: ["domain", "core"],
  storage: ["domain", "core"],
  config: ["domain", "core"],
  cluster: ["domain", "core"],
  mcp: ["domain", "core"],
  testing: ["domain", "core"],
  api: ["domain"],
  client: ["domain", "api"],
  backend: ["domain", "core", "api", "client"],
  tui: ["domain", "view", "backend"],
  acp: ["domain", "view", "backend"],
  server: ["domain", "core", "api", "view", "tools", "provider", "offline", "storage", "config", "cluster"],
  cli: [
    "domain",
    "core",
    "api",
    "client",
    "view",
    "backend",
    "tui",
    "tools",
    "provider",
    "offline",
    "storage",
    "config",
    "cluster",
    "mcp",
    "acp",
    "server"
  ]
}

/**
 * Packages that know no vendor, SQL, HTTP or process: of what is not ours they import this alone. The checker of JSON Schema
 * is a function of values that has no dependency and touches nothing outside; `node:vm` bounds how long it takes.
 * @type {Readonly<Record<string, ReadonlyArray<string>>>}
 */
export const pure = { view: [], domain: ["effect"], core: ["effect", "@cfworker/json-schema", "node:vm"] }

/**
 * The rooms of a package from the ground up, as ARCHITECTURE draws them: a room imports only rooms on floors below its own.
 * @type {Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>}
 */
export const floors = {
  core: [
    ["budget", "governor", "leases", "memory", "permission"],
    ["live"],
    ["conversation"],
    ["model"],
    ["calls", "compact", "summary"],
    ["command", "turn"],
    ["runner"],
    ["tasks"],
    ["session"]
  ]
}

/** The longest a source file may be, in lines. */
export const maximumLines = 600

/**
 * Files and folders that are still being taken apart, by the rule that does not hold for them yet. Add nothing: take out what
 * is done.
 * @typedef {{ readonly circles: ReadonlyArray<string>, readonly closures: ReadonlyArray<string> }} Exempt
 * @type {Exempt}
 */
export const known = {
  circles: [],
  closures: [
    "packages/cli/src/internal/run/live.ts",
    "packages/core/src/internal/leases/makeLeases.ts",
    "packages/core/src/internal/permission/broker.ts",
    "packages/tools/src/internal/sandbox/bwrap.ts",
    "packages/tools/src/internal/claude/claudeHooks.ts",
    "packages/tools/src/internal/web/webPage.ts"
  ]
}

/** Packages whose index pulls in everything they have, which doubles the time to start. */
export const indexes = /^(effect|@effect\/(?!vitest$)[^/]+|@skein\/[^/]+)$/
