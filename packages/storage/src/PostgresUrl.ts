/** Recognises the URL of a PostgreSQL database, checks it, and formats it without user and password. */

/** Whether a text is the URL of a PostgreSQL database, and not a file. One in quotes is meant as such: `faultOf` says what is wrong. */
export const isPostgres = (database: string): boolean => /^["']?postgres(ql)?:\/\//i.test(database)

const howToWrite =
  "Write it as postgres://USER:PASSWORD@HOST:5432/DATABASE. In user and password, write @ as %40, # as %23, / as %2F, ? as %3F, : as %3A and % as %25."

/** An `@` after the address: then a character before it ended the address too early, and the password is in the rest. */
const isCutShort = ({ hash, pathname, search, username }: URL): boolean =>
  username === "" && (pathname.includes("@") || hash.includes("@") || /^\?[^=]*@/.test(search))

/** The modes that the client knows, and what `require` and its like mean to it. */
const modes = new Map([
  ["disable", "disable"],
  ["no-verify", "no-verify"],
  ["prefer", "verify-full"],
  ["require", "verify-full"],
  ["verify-ca", "verify-full"],
  ["verify-full", "verify-full"]
])

/** Why a URL cannot be used, without what may be a part of its password; undefined if it can. */
export const faultOf = (url: string): string | undefined => {
  if (/^["']/.test(url)) {
    return "The URL of the database begins with a quote, which is not a part of it. Write it without quotes: `docker --env-file`, for example, keeps them."
  }
  if (!URL.canParse(url)) return `The URL of the database cannot be read. ${howToWrite}`
  const parsed = new URL(url)
  if (isCutShort(parsed)) {
    return `The URL of the database has a special character in its user or password. ${howToWrite}`
  }
  const mode = parsed.searchParams.get("sslmode")
  return mode === null || modes.has(mode)
    ? undefined
    : `sslmode=${mode} in the URL of ${
      place(url)
    } is unknown. Use verify-full, no-verify (encrypts, and trusts any certificate) or disable.`
}

/** The URL as the client reads it without a warning. Each mode means what it has always meant to it. */
export const forClient = (url: string): URL => {
  const full = new URL(url)
  const mode = modes.get(full.searchParams.get("sslmode") ?? "")
  if (mode !== undefined && full.searchParams.get("uselibpqcompat") === null) full.searchParams.set("sslmode", mode)
  return full
}

/** A URL without its user, password and parameters, for people. */
export const place = (url: string): string => {
  if (!URL.canParse(url)) return "postgres://…"
  const parsed = new URL(url)
  if (isCutShort(parsed)) return "postgres://…"
  const { host, pathname, searchParams } = parsed
  return `postgres://${host === "" ? searchParams.get("host") ?? "localhost" : host}${pathname}`
}
