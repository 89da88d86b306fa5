/** Recognises the URL of a PostgreSQL database, and formats it without user and password. */

/** Whether a text is the URL of a PostgreSQL database, and not a file. */
export const isPostgres = (database: string): boolean => /^postgres(ql)?:\/\//i.test(database)

/** A URL without its user, password and parameters, for people. */
export const place = (url: string): string => {
  if (!URL.canParse(url)) return "postgres://…"
  const { host, pathname, searchParams } = new URL(url)
  return `postgres://${host === "" ? searchParams.get("host") ?? "localhost" : host}${pathname}`
}
