import { expect, it } from "vitest"
import { makeThinkTag } from "../../src/internal/chat/chatAnswer.ts"

/** What the deltas become, with neighbours of one kind joined. */
const split = (...deltas: ReadonlyArray<string>) => {
  const said: Array<[string, string]> = []
  const tag = makeThinkTag((kind, delta) => {
    const last = said.at(-1)
    if (last?.[0] === kind) last[1] += delta
    else said.push([kind, delta])
  })
  for (const delta of deltas) tag.push(delta)
  tag.flush()
  return said
}

it.each<readonly [string, ReadonlyArray<[string, string]>]>([
  ["<think>hm</think>\n\nyes", [["reasoning", "hm"], ["text", "yes"]]],
  ["\n<think>\na < b</thin</think>c", [["reasoning", "\na < b</thin"], ["text", "c"]]],
  ["plain <think>x</think>", [["text", "plain <think>x</think>"]]],
  ["<thinking about it", [["text", "<thinking about it"]]],
  ["<thi", [["text", "<thi"]]],
  ["  ", [["text", "  "]]],
  ["<think>never closed </th", [["reasoning", "never closed </th"]]],
  ["<think></think>ok", [["text", "ok"]]],
  ["", []]
])("splits %j in the same way, however it is cut", (text, expected) => {
  expect(split(text)).toEqual(expected)
  expect(split(...text)).toEqual(expected)
})

it("does not hold back blanks without end", () => {
  const blanks = " ".repeat(2_000)
  expect(split(...blanks)).toEqual([["text", blanks]])
})
