import { describe, expect, it } from "vitest"
import { pick } from "../../src/internal/follow.ts"

const a = { url: "a", room: 1 }
const b = { url: "b", room: 3 }

describe("the choice among runners with room", () => {
  it("gives more to those with more room, and nothing to those without", () => {
    const full = { url: "full", room: 0 }
    const over = { url: "over", room: -4 }
    const chosen = [0, 0.2, 0.26, 0.5, 0.99, 1].map((chance) => pick([full, a, over, b], chance))
    expect(chosen).toEqual(["a", "a", "b", "b", "b", "b"])
  })

  it("finds none if none has room", () => {
    expect(pick([], 0.5)).toBeUndefined()
    expect(pick([{ url: "full", room: 0 }], 0)).toBeUndefined()
  })
})
