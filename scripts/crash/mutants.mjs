// @ts-check
// Mistakes put into copies of the program on purpose: a harness that does not notice them proves nothing.

/**
 * `point` is where the first of several runners is frozen; without one, a single program is killed at every point.
 * @type {Readonly<Record<string, {
 *   readonly says: string,
 *   readonly point?: string,
 *   readonly patches: ReadonlyArray<import("./copy.mjs").Patch>
 * }>>}
 */
export const mutants = {
  "intent-after-effect": {
    says: "what a call is about to do is stored only together with its result",
    patches: [
      {
        file: "packages/core/src/internal/calls/toolCall.ts",
        from: "yield* call.become(begunAs(call.current, tool, call.input, call.now(), leases.epoch(live.info.rootID)))",
        to: ""
      },
      {
        file: "packages/core/src/internal/calls/toolCalls.ts",
        from: "for (const [at, part] of answered.calls.entries()) {",
        to: "for (const [at, part] of [...answered.calls.entries()].slice(0, 0)) {"
      }
    ]
  },
  "wake-skipped": {
    says: "the outcome of a task in the background is stored without the news of it",
    patches: [
      {
        file: "packages/core/src/internal/tasks/settleRun.ts",
        from: "...(news === undefined ? [] : [{ _tag: \"Inbox\", row: news } as const])",
        to: "...[]"
      },
      {
        // While nobody dies all goes well: the session that runs knows the news.
        file: "packages/core/src/internal/turn/takeInbox.ts",
        from: "{ _tag: \"InboxTaken\", id: row.id, sessionID: live.info.id, at: now }",
        to:
          "...(row.kind === \"notification\" ? [] : [{ _tag: \"InboxTaken\", id: row.id, sessionID: live.info.id, at: now }])"
      }
    ]
  },
  "late-start": {
    says: "a runner that was frozen right before a command starts it after the takeover",
    point: "before_spawn:1",
    patches: [{
      file: "packages/tools/src/internal/shell/runShell.ts",
      from: ": limitIn(yield* Effect.mapError(command.confirm, notStarted))",
      to: ": limitIn(Number.POSITIVE_INFINITY)"
    }]
  },
  "commands-left": {
    says: "commands of a frozen runner go on after the takeover",
    point: "after_spawn:5",
    patches: [{
      file: "packages/tools/src/NodeOwner.ts",
      from: "Effect.as(evict(rootID), true)",
      to: "Effect.succeed(true)"
    }]
  }
}
