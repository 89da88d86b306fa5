import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { layoutInput, Pastes, placeBeside } from "../../src/internal/editor/InputLine.ts"
import { type Deletion, graphemesOf, type Move, TextBuffer } from "../../src/internal/editor/TextBuffer.ts"
import { widthOf } from "../../src/Width.ts"

/** A buffer with a text; `|` marks the cursor. */
const at = (marked: string) => {
  const buffer = new TextBuffer()
  buffer.reset(marked.replace("|", ""))
  buffer.place(marked.indexOf("|"))
  return buffer
}

const shown = ({ cursor, text }: TextBuffer) => `${text.slice(0, cursor)}|${text.slice(cursor)}`

describe("an edited text", () => {
  it.each<readonly [string, Move, string]>([
    ["ab|c", "left", "a|bc"],
    ["|abc", "left", "|abc"],
    ["abc|", "right", "abc|"],
    ["é🇩🇪|x", "left", "é|🇩🇪x"],
    ["a👨‍👩‍👧|", "left", "a|👨‍👩‍👧"],
    ["|👍🏽b", "right", "👍🏽|b"],
    ["a\n|b", "left", "a|\nb"],
    ["one two.|", "wordLeft", "one |two."],
    ["one| two.", "wordRight", "one two|."],
    ["one\ntw|o", "lineStart", "one\n|two"],
    ["one\ntw|o\nx", "lineEnd", "one\ntwo|\nx"],
    ["one\ntw|o", "start", "|one\ntwo"],
    ["o|ne\ntwo", "end", "one\ntwo|"]
  ])("%j moves %s to %j", (from, move, to) => {
    const buffer = at(from)
    buffer.move(move)
    expect(shown(buffer)).toBe(to)
  })

  it.each<readonly [string, Deletion, string]>([
    ["ab|c", "left", "a|c"],
    ["ab|c", "right", "ab|"],
    ["e\u0301|x", "left", "|x"],
    ["one two|", "wordLeft", "one |"],
    ["|one two", "wordRight", "| two"],
    ["one tw|o", "toLineStart", "|o"],
    ["on|e\ntwo", "toLineEnd", "on|\ntwo"],
    ["one|\ntwo", "toLineEnd", "one|two"]
  ])("%j without %s is %j", (from, what, to) => {
    const buffer = at(from)
    buffer.delete(what)
    expect(shown(buffer)).toBe(to)
    buffer.undo()
    expect(shown(buffer)).toBe(from)
    buffer.redo()
    expect(shown(buffer)).toBe(to)
  })

  it("inserts again what was deleted", () => {
    const buffer = at("one two|")
    buffer.delete("wordLeft")
    buffer.move("start")
    buffer.yank()
    expect(shown(buffer)).toBe("two|one ")
  })

  it("takes typing back word by word", () => {
    const buffer = at("|")
    for (const character of "one two") buffer.insert(character)
    buffer.undo()
    expect(shown(buffer)).toBe("one|")
    buffer.undo()
    expect(shown(buffer)).toBe("|")
  })

  const step = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => ({ insert: text })),
    fc.constantFrom<Move>("left", "right", "wordLeft", "wordRight", "lineStart", "lineEnd").map((move) => ({ move })),
    fc.constantFrom<Deletion>("left", "right", "wordLeft", "wordRight", "toLineStart", "toLineEnd").map((what) => ({
      delete: what
    }))
  )

  it("never tears a character apart, and comes back by undoing", () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const buffer = new TextBuffer()
      for (const each of steps) {
        if ("insert" in each) buffer.insert(each.insert)
        else if ("move" in each) buffer.move(each.move)
        else buffer.delete(each.delete)
        expect(buffer.text.isWellFormed()).toBe(true)
      }
      for (let i = 0; i < steps.length; i++) buffer.undo()
      expect(buffer.text).toBe("")
    }))
  })
})

describe("its rows", () => {
  it("fit, hold all of it, and know where the cursor is", () => {
    fc.assert(fc.property(
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.integer({ min: 12, max: 40 }),
      (text, columns) => {
        const { rows } = layoutInput(text, 0, columns)
        for (const { shown: row } of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns)
        let place = 0
        for (const line of text.split("\n")) {
          for (const grapheme of graphemesOf(line)) {
            const { column, row } = layoutInput(text, place, columns)
            expect(rows[row]?.places.some((each) => each.at === place && each.column === column)).toBe(true)
            place += grapheme.length
          }
          place++
        }
      }
    ))
  })

  it("keep the column when the cursor goes up and down", () => {
    const layout = layoutInput("long line\nab\nlong line", 16, 40)
    expect({ row: layout.row, column: layout.column }).toEqual({ row: 2, column: 3 })
    expect(placeBeside(layout, -1, 3)).toBe(12)
    expect(placeBeside(layout, 1, 3)).toBeUndefined()
  })

  it("show what a terminal would obey as what it is", () => {
    expect(layoutInput("a\u001b[2J\tb", 0, 40).rows[0]?.shown).toBe("a\\x1b[2J  b")
  })
})

describe("long pasted text", () => {
  it("is folded to a label, edited as one character, and sent whole", () => {
    const pastes = new Pastes()
    const long = Array.from({ length: 12 }, (_, i) => `line ${i}`).join("\r\n")
    const buffer = at("see |, please")
    buffer.insert(pastes.fold(long))
    const { rows } = layoutInput(buffer.text, 0, 60, (character) => pastes.labelOf(character))
    expect(rows[0]?.shown).toBe("see [Pasted text 1: 12 lines], please")
    expect(pastes.unfold(buffer.text)).toBe(`see ${long.replaceAll("\r\n", "\n")}, please`)
    buffer.delete("left")
    expect(pastes.unfold(buffer.text)).toBe("see , please")
  })

  it("is not folded where it is short, and cannot pretend to be another one", () => {
    const pastes = new Pastes()
    expect(pastes.fold("a\rb")).toBe("a\nb")
    pastes.fold("x".repeat(2_000))
    expect(pastes.unfold(pastes.fold("\u{f0000}"))).toBe("\ufffd")
  })
})
