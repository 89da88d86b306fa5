import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { makeGrowing } from "../../src/internal/chat/chatBody.ts"

interface Element {
  readonly text: string
}

const element = (text: string): Element => ({ text })

const counted = () => {
  const written: Array<string> = []
  const write = makeGrowing<Element>(({ text }) => {
    written.push(text)
    return Buffer.from(text)
  })
  return {
    written,
    write: (list: ReadonlyArray<Element>, ...first: ReadonlyArray<Element>) =>
      write(list, {
        before: Buffer.from("<"),
        first: first.map(({ text }) => Buffer.from(text)),
        after: [Buffer.from(">"), Buffer.from(";")]
      }).toString()
  }
}

/** The text of a completely written list. */
const plain = (list: ReadonlyArray<Element>) =>
  `<${list.map(({ text }) => text).filter((text) => text !== "").join(",")}>;`

describe("growing", () => {
  it("writes only the elements that an earlier list did not have", () => {
    const [a, b, c, d] = [element("a"), element("b"), element("c"), element("d")] as const
    const { write, written } = counted()
    expect(write([a, b], element("s"))).toBe("<s,a,b>;")
    expect(write([a, b, c, d], element("t"))).toBe("<t,a,b,c,d>;")
    expect(write([a, b, c, d])).toBe("<a,b,c,d>;")
    expect(written).toEqual(["a", "b", "c", "d"])
  })

  it("writes the same as without a cache, after any earlier lists", () => {
    const elements = ["a", "b", "", "c", "a"].map(element)
    const list = FastCheck.array(FastCheck.constantFrom(...elements), { maxLength: 5 })
    const request = FastCheck.record({
      list,
      first: FastCheck.array(FastCheck.constantFrom(...elements), { maxLength: 1 })
    })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(request, { maxLength: 12 }), (requests) => {
        const { write } = counted()
        for (const { first, list } of requests) expect(write(list, ...first)).toBe(plain([...first, ...list]))
      })
    )
  })
})
