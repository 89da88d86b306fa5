import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { advance, hasBegun, type TaskRunEvent, type TaskRunState } from "../../src/internal/live/TaskList.ts"

/** What has happened to a run so far, as independent facts. */
interface Facts {
  begun: boolean
  late: boolean
  granted: boolean
  stored: boolean
  settling: boolean
}

/** What each event needs, and what it does. */
const rules: Readonly<
  Record<TaskRunEvent, { readonly may: (facts: Facts) => boolean; readonly does: Partial<Facts> }>
> = {
  begin: { may: ({ begun, settling }) => !begun && !settling, does: { begun: true } },
  expire: { may: ({ begun, settling }) => !begun && !settling, does: { begun: true, late: true } },
  grant: { may: ({ granted, late, settling }) => !late && !granted && !settling, does: { granted: true } },
  store: {
    may: ({ begun, granted, late, settling, stored }) => begun && granted && !late && !stored && !settling,
    does: { stored: true }
  },
  settle: { may: ({ settling }) => !settling, does: { begun: true, settling: true } }
}

const stateOf = ({ begun, granted, late, settling, stored }: Facts): TaskRunState => {
  if (settling) return "settling"
  if (!begun) return granted ? "granted" : "queued"
  if (late) return "expired"
  return stored ? "started" : granted ? "running" : "starting"
}

const command = (event: TaskRunEvent): FastCheck.Command<Facts, { state: TaskRunState }> => ({
  check: () => true,
  run: (facts, run) => {
    const { does, may } = rules[event]
    const happens = may(facts)
    if (happens) Object.assign(facts, does)
    expect(advance(run, event), event).toBe(happens)
    expect(run.state).toBe(stateOf(facts))
    expect(hasBegun(run)).toBe(facts.begun)
  },
  toString: () => event
})

describe("the state of a run", () => {
  it("follows from what has happened, in any order", () => {
    const events = ["begin", "expire", "grant", "store", "settle"] as const
    FastCheck.assert(
      FastCheck.property(
        FastCheck.commands(events.map((event) => FastCheck.constant(command(event))), { maxCommands: 12 }),
        (commands) => {
          const model: Facts = { begun: false, late: false, granted: false, stored: false, settling: false }
          FastCheck.modelRun(() => ({ model, real: { state: "queued" } }), commands)
        }
      ),
      { numRuns: 500 }
    )
  })
})
