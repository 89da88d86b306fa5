// @ts-check
// What source files of packages may not use, why, and what to write instead. `within` names the directories where
// that holds; everywhere without it. `allow` names the exempt files (or directories, with a slash at the end). Think twice before you extend such a list. scripts/boundaries.mjs reads this
// table.

/**
 * `uses` is spelled as in the code: `Object.member`, a global `call()`, `new Date()`, a module, or `member(...)`
 * for a list that is spread into a call.
 * @type {ReadonlyArray<{
 *   readonly uses: ReadonlyArray<string>,
 *   readonly why: string,
 *   readonly fix: string,
 *   readonly within?: ReadonlyArray<string>,
 *   readonly allow?: ReadonlyArray<string>
 * }>}
 */
export const bans = [
  {
    uses: ["Date.now", "new Date()"],
    why: "reads a clock that a test cannot set",
    fix: "Read effect/Clock or effect/DateTime",
    allow: ["packages/web/src/state/clock.ts"]
  },
  {
    uses: ["Math.random"],
    why: "cannot be repeated",
    fix: "Draw from effect/Random"
  },
  {
    uses: ["process.env"],
    why: "is an input that nobody can see or replace",
    fix: "Read effect/Config, or take the value as a parameter",
    allow: ["packages/tools/src/Environment.ts", "packages/testing/src/Seeds.ts", "packages/mcp/src/Mcp.ts"]
  },
  {
    uses: ["setTimeout()", "setInterval()", "setImmediate()", "node:timers", "node:timers/promises"],
    why: "outlives its scope and ignores the test clock",
    fix: "Use Effect.sleep, Effect.timeout or a Schedule",
    allow: [
      "packages/core/src/MonotonicClock.ts",
      // Runs in a process of its own, without Effect.
      "packages/tools/src/internal/watchdog/watchdogProgram.ts",
      "packages/web/src/state/clock.ts"
    ]
  },
  {
    uses: ["Queue.unbounded", "PubSub.unbounded"],
    why: "grows until the process dies when its reader is slow",
    fix: "Say how many fit and what happens to the next one: bounded, dropping or sliding"
  },
  {
    uses: ["Effect.ignore"],
    why: "swallows a failure",
    fix: "Handle it, or log it with Effect.ignoreLogged when nothing depends on it"
  },
  {
    uses: ["Effect.orDie"],
    why: "turns a refusal that the caller could act on into a defect",
    fix: "Keep the typed error, or die with a message that says why it cannot happen (Effect.orDieWith)"
  },
  {
    uses: ["sql.withTransaction", "client.withTransaction", "SqlClient.withTransaction"],
    why: "dies if its COMMIT or ROLLBACK fails, as both do on a lost connection or a full disk",
    fix:
      "Use a transaction whose COMMIT fails with an error: storage's Within, or inTransaction and ownConnection of the cluster"
  },
  {
    uses: ["Effect.forkDaemon", "Effect.runFork"],
    why: "starts a fiber that no scope ends",
    fix: "Use Effect.forkScoped, Effect.forkIn or a FiberSet",
    // A simulation is the runtime of its program: it ends with it.
    allow: ["packages/testing/src/Simulation.ts"]
  },
  {
    uses: ["push(...)", "unshift(...)", "splice(...)", "max(...)", "min(...)", "fromCharCode(...)"],
    why: "exceeds the stack with 100,000 elements, and stored data may have as many",
    fix: "Use a loop, reduce, or a new array with both lists",
    within: ["packages/core/", "packages/storage/", "packages/cluster/", "packages/server/"]
  }
]
