import { describe, expect, it } from "vitest"
import type { Key } from "../src/Key.ts"
import { KeyDecoder } from "../src/KeyDecoder.ts"

const told = (keys: ReadonlyArray<Key>) =>
  keys.map((key) =>
    key.type === "key"
      ? `<${key.name}>`
      : key.type === "paste"
      ? `paste:${key.text}`
      : key.type === "text"
      ? key.text
      : `(${key.type})`
  )

/** Decodes these reads one after the other; then nothing more comes. */
const decoded = (...reads: ReadonlyArray<string | Uint8Array>) => {
  const decoder = new KeyDecoder()
  const keys = reads.flatMap((read) => decoder.decode(typeof read === "string" ? Buffer.from(read) : read))
  return told([...keys, ...decoder.flush()])
}

describe("keys", () => {
  it.each([
    ["1\r", ["1", "<enter>"]],
    ["\u001b[A\u001b[B\u001bOC\u001bOD", ["<up>", "<down>", "<right>", "<left>"]],
    ["\u001b[5~\u001b[6~", ["<pageUp>", "<pageDown>"]],
    ["\u0002\u0015\u007f\u0004", ["<ctrl+b>", "<ctrl+u>", "<backspace>", "<ctrl+d>"]],
    ["\u001b[1;5A\u001b[200x\u001bb\u001bOy", ["<ctrl+up>", "<other>", "<alt+b>", "<other>"]],
    ["\r\n\t \u001b[Z", ["<enter>", "<ctrl+j>", "<tab>", " ", "<shift+tab>"]],
    // Enter with shift: by the kitty protocol, by xterm's, and with Alt.
    ["\u001b[13;2u\u001b[27;2;13~\u001b\r", ["<shift+enter>", "<shift+enter>", "<alt+enter>"]],
    ["\u001b[99;5u\u001b[27u\u001b[97;2u\u001b[57414u", ["<ctrl+c>", "<escape>", "A", "<enter>"]],
    ["\u001b[1;5D\u001b[3~\u001b[H\u001bOF\u001b[3;5~", [
      "<ctrl+left>",
      "<delete>",
      "<home>",
      "<end>",
      "<ctrl+delete>"
    ]],
    ["\u001b", ["<escape>"]],
    ["\u001b\u001b[A", ["<escape>", "<up>"]],
    ["x\u0003", ["x", "<ctrl+c>"]],
    ["世😀", ["世", "😀"]]
  ])("%j", (typed, keys) => {
    expect(decoded(typed)).toEqual(keys)
  })

  it("are the same however they are split over reads", () => {
    const typed = "a\u001b[A1\u001b[200~one\r\ntwo\u001b[201~\u001b[6~世\r"
    const bytes = Buffer.from(typed)
    const whole = decoded(typed)
    expect(whole).toEqual(["a", "<up>", "1", "paste:one\r\ntwo", "<pageDown>", "世", "<enter>"])
    for (let at = 1; at < bytes.length; at++) {
      expect(decoded(bytes.subarray(0, at), bytes.subarray(at))).toEqual(whole)
    }
    expect(decoded(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  it("that are begun are known, so that Escape does not wait for ever", () => {
    const decoder = new KeyDecoder()
    expect(decoder.decode(Buffer.from("\u001b"))).toEqual([])
    expect(decoder.isPending).toBe(true)
    expect(told(decoder.flush())).toEqual(["<escape>"])
    expect(decoder.isPending).toBe(false)
    expect(told(decoder.decode(Buffer.from("[A")))).toEqual(["[", "A"])
  })
})

describe("what is pasted", () => {
  it("is one thing, whatever is in it", () => {
    expect(decoded("\u001b[200~1\r\u001b[A\u0003\u001b[201~")).toEqual(["paste:1\r\u001b[A\u0003"])
  })

  it("may be megabytes, in many reads", () => {
    const decoder = new KeyDecoder()
    const reads = ["\u001b[200~", ...Array.from({ length: 64 }, () => "x".repeat(65_536)), "\u001b[201~"]
    const [pasted, ...more] = reads.flatMap((read) => decoder.decode(Buffer.from(read)))
    expect(pasted?.type === "paste" && pasted.text.length).toBe(64 * 65_536)
    expect(more).toEqual([])
  })

  it("has a bound, and does not take Ctrl-C away where its end never comes", () => {
    const [pasted = ""] = decoded(`\u001b[200~${"x".repeat(9_000_000)}\u001b[201~`)
    expect(pasted.length).toBeLessThan(8_001_000)
    expect(decoded("\u001b[200~never ends", "\u0003", "1")).toEqual(["<other>", "<ctrl+c>", "1"])
  })

  it("a sequence without an end has a bound as well", () => {
    expect(decoded(`\u001b[${"1".repeat(100)}`, "y")).toEqual(["<other>", "y"])
  })
})

const replies = (text: string) => new KeyDecoder().decode(Buffer.from(text))

describe("what the terminal reports", () => {
  it("is its background, in any precision and with either end", () => {
    const white = { type: "background", color: { red: 1, green: 1, blue: 1 } }
    expect(replies("\u001b]11;rgb:ffff/ffff/ffff\u0007")).toEqual([white])
    expect(replies("\u001b]11;rgb:ff/ff/ff\u001b\\x")).toEqual([white, { type: "text", text: "x" }])
  })

  it("is its focus, and that it has answered", () => {
    expect(replies("\u001b[I\u001b[O\u001b[?62;22c")).toEqual([
      { type: "focus", isFocused: true },
      { type: "focus", isFocused: false },
      { type: "attributes" }
    ])
  })

  it("is never taken for typing", () => {
    expect(replies("\u001b]4;1;rgb:00/00/00\u0007\u001bP1+r\u001b\\\u001b[?2026;2$y\u001b[>1;10;0c")).toEqual([])
  })
})
