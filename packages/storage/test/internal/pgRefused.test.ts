/** Each refusal of a PostgreSQL server says what to change: servers that refuse so are not started for a test. */
import { SqlError } from "@effect/sql/SqlError"
import { expect, it } from "vitest"
import { explain, whyRefused } from "../../src/internal/pgError.ts"

it.each([
  ["28000", "role \"guest\" does not exist", "Make it with \"createuser\""],
  [
    "28000",
    "no pg_hba.conf entry for host \"10.0.0.1\", user \"u\", database \"d\", no encryption",
    "sslmode=verify-full"
  ],
  [
    "28000",
    "no pg_hba.conf entry for host \"10.0.0.1\", user \"u\", database \"d\", SSL encryption",
    "Allow it in pg_hba"
  ],
  ["", "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string", "there is none"],
  ["28P01", "password authentication failed for user \"u\"", "refuses user or password"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", "sslrootcert=FILE"]
])("%s %s", (code, detail, words) => {
  expect(whyRefused("postgres://h/d", { code, detail })).toContain(words)
})

it("nothing else is a refusal", () => {
  expect(whyRefused("postgres://h/d", { code: "ECONNREFUSED", detail: "connect ECONNREFUSED" })).toBeUndefined()
})

it.each(["28P01", "28000", "3D000"])(
  "a server that accepted the user before, and refuses with %s, is waited for",
  (code) => {
    const error = new SqlError({ cause: Object.assign(new Error("it does not let you in"), { code }) })
    const explained = explain("postgres://h/d")
    expect(explained("open", error)).toMatchObject({ reason: "unreadable" })
    const later = explained("commit", error)
    expect(later).toMatchObject({
      reason: "busy",
      message: expect.stringContaining("waits until it accepts connections")
    })
  }
)

it("a server without a free connection runs, and the text says which limits to raise", () => {
  const error = new SqlError({
    cause: Object.assign(new Error("too many connections for role \"u\""), { code: "53300" })
  })
  const { message, reason } = explain("postgres://h/d")("open", error)
  expect(reason).toBe("busy")
  expect(message).toContain("raise `max_connections` in its config, or the limit of the role")
  expect(message).not.toContain("could not be reached")
})
