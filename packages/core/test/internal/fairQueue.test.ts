import type { SessionID } from "@skein/domain/Id"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { makeFairQueue } from "../../src/internal/governor/fairQueue.ts"

interface Item {
  readonly rootID: SessionID
  readonly n: number
}

const item = (root: number, n: number): Item => ({ rootID: `ses_${root}` as SessionID, n })

describe("a fair queue", () => {
  it("takes each item at its reported position, after any additions, removals and takes", () => {
    const step = FastCheck.record({
      does: FastCheck.constantFrom("add", "add", "add", "take", "remove"),
      root: FastCheck.nat({ max: 3 }),
      which: FastCheck.nat()
    })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { maxLength: 60 }), (steps) => {
        const queue = makeFairQueue<Item>()
        let waiting: Array<Item> = []
        for (const [n, { does, root, which }] of steps.entries()) {
          const chosen = waiting[which % Math.max(1, waiting.length)]
          const gone = does === "take" ? queue.take() : does === "remove" ? chosen : undefined
          if (does === "add") {
            waiting.push(item(root, n))
            queue.add(waiting.at(-1) ?? item(root, n))
          }
          if (does === "remove" && chosen !== undefined) expect(queue.remove(chosen)).toBe(true)
          waiting = waiting.filter((each) => each !== gone)
          if (gone !== undefined) {
            expect(queue.remove(gone)).toBe(false)
            expect(queue.position(gone)).toBe(0)
          }
        }
        expect(queue.size()).toBe(waiting.length)
        const byPosition = new Map(waiting.map((each) => [queue.position(each), each]))
        expect([...waiting.keys()].map((i) => byPosition.get(i + 1))).toEqual(waiting.map(() => queue.take()))
        expect(queue.take()).toBeUndefined()
        expect(queue.size()).toBe(0)
      }),
      { numRuns: 300, seed: 5 }
    )
  })

  it("skips roots that are not accepted, which keep their turn", () => {
    const queue = makeFairQueue<Item>()
    for (const [root, n] of [[1, 1], [2, 2], [1, 3], [2, 4]] as const) queue.add(item(root, n))
    const notTheFirst = ({ rootID }: { readonly rootID: SessionID }) => rootID !== "ses_1"
    expect(queue.take(notTheFirst)?.n).toBe(2)
    expect([queue.take()?.n, queue.take()?.n, queue.take()?.n]).toEqual([1, 4, 3])
    expect(queue.take(notTheFirst)).toBeUndefined()
  })
})
