import { expect, it } from "vitest"
import { inColumns } from "../../src/internal/session/listings.ts"

it("puts cells between tabs in columns, and wraps words", () => {
  expect(inColumns("AGENT\tMODE\tABOUT\nb\tprimary\tworks on the whole project\nplain", 30)).toEqual([
    "AGENT  MODE     ABOUT",
    "b      primary  works on the ",
    "    whole project",
    "plain"
  ])
})
