// @ts-check
// Mistakes put into copies of the program on purpose: a harness that does not notice them proves nothing.

/** @type {Readonly<Record<string, { readonly says: string, readonly patches: ReadonlyArray<import("./copy.mjs").Patch> }>>} */
export const mutants = {
  "intent-after-effect": {
    says: "what a call is about to do is stored only together with its result",
    patches: [
      {
        file: "packages/core/src/internal/session/toolCall.ts",
        from: "yield* become(begunAs(current, known, given, now(), leases.epoch(live.info.rootID)))",
        to: "putPart(step.message, current = begunAs(current, known, given, now(), leases.epoch(live.info.rootID)))"
      },
      {
        file: "packages/core/src/internal/session/startCalls.ts",
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
        file: "packages/core/src/internal/session/takeInbox.ts",
        from: "{ _tag: \"InboxTaken\", id: row.id, sessionID: live.info.id, at: now }",
        to:
          "...(row.kind === \"notification\" ? [] : [{ _tag: \"InboxTaken\", id: row.id, sessionID: live.info.id, at: now }])"
      }
    ]
  }
}
