import { Milliseconds, millisecondsUpTo } from "@skein/domain/Milliseconds"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"

const decode = Schema.decodeUnknownEither(Milliseconds)

describe("a time", () => {
  it.each<readonly [unknown, number]>([
    [1, 1],
    [1_800_000, 1_800_000],
    ["500ms", 500],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1.5h", 5_400_000],
    [2 ** 31 - 1, 2 ** 31 - 1]
  ])("%j is %d ms", (written, milliseconds) => {
    expect(decode(written)).toEqual(Either.right(milliseconds))
  })

  it.each([
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 31,
    "",
    "5",
    "0s",
    "-5s",
    "soon",
    "5 days",
    "600h",
    "1e3s",
    "99999999999999999999h",
    true,
    null
  ])(
    "%j is none",
    (written) => {
      expect(decode(written)).toMatchObject({ _tag: "Left" })
    }
  )

  it("describes its format", () => {
    expect(() => Schema.decodeUnknownSync(millisecondsUpTo(600_000, "10 minutes"))("11m")).toThrow(
      `a whole number of milliseconds or a time such as "90s" or "30m", at most 10 minutes`
    )
  })

  it("is a number or a text in JSON Schema", () => {
    expect(JSONSchema.make(Milliseconds)).toMatchObject({
      anyOf: [{ type: "integer", minimum: 1, maximum: 2_147_483_647 }, { type: "string", pattern: expect.any(String) }]
    })
  })

  it("is written as the number of milliseconds", () => {
    expect(Schema.encodeSync(Milliseconds)(90_000)).toBe(90_000)
  })
})
