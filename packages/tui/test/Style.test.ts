/** Proves that coloured text can be read on light backgrounds, whatever colours config gives to agents. */
import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { onLight, type Paint } from "../src/Style.ts"

/** White, and the paper of Solarized Light. */
const backgrounds = [[255, 255, 255], [253, 246, 227]] as const

const luminance = (rgb: ReadonlyArray<number>): number => {
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const levels = [0, 95, 135, 175, 215, 255]

/** The colour that a terminal shows for one of the 256. */
const ofPalette = (index: number): ReadonlyArray<number> =>
  index >= 232
    ? [8 + 10 * (index - 232), 8 + 10 * (index - 232), 8 + 10 * (index - 232)]
    : [Math.floor((index - 16) / 36), Math.floor((index - 16) / 6) % 6, (index - 16) % 6].map((at) => levels[at] ?? 0)

const colorOf = (paint: Paint): ReadonlyArray<number> => {
  const [, kind, rest = ""] = /\[38;([25]);([\d;]+)m/.exec(paint("x")) ?? []
  expect(kind, JSON.stringify(paint("x"))).toBeDefined()
  return kind === "5" ? ofPalette(Number(rest)) : rest.split(";").map(Number)
}

const contrast = (paint: Paint): number => {
  const text = luminance(colorOf(paint))
  return Math.min(...backgrounds.map((each) => (luminance(each) + 0.05) / (text + 0.05)))
}

const { blue, cyan, green, magenta, of, red, yellow } = onLight

describe("on a light background", () => {
  it.each(Object.entries({ blue, cyan, green, magenta, red, yellow }))("%s has a contrast of 4.5", (_, paint) => {
    expect(contrast(paint)).toBeGreaterThanOrEqual(4.5)
  })

  it.each(["red", "green", "yellow", "blue", "magenta", "cyan", "white", "gray"])("so has an agent in %s", (name) => {
    expect(contrast(of(name))).toBeGreaterThanOrEqual(4.5)
  })

  it("so has an agent in any colour, and a dark one stays as it is", () => {
    const part = fc.integer({ min: 0, max: 255 })
    fc.assert(fc.property(part, part, part, (...rgb) => {
      const color = `#${rgb.map((each) => each.toString(16).padStart(2, "0")).join("")}`
      expect(contrast(of(color))).toBeGreaterThanOrEqual(4.5)
    }))
    expect(colorOf(of("#203040"))).toEqual([0x20, 0x30, 0x40])
  })
})
