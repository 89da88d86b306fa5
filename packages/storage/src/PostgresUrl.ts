/** Decides what names a PostgreSQL database, and how it is shown: never with its user or password. */

/** Whether a text names a PostgreSQL database, and not a file. */
export const isPostgres = (database: string): boolean => /^postgres(ql)?:\/\//i.test(database)

/** A URL without its user, password and parameters, for people. */
export const place = (url: string): string => {
  if (!URL.canParse(url)) return "postgres://…"
  const { host, pathname, searchParams } = new URL(url)
  return `postgres://${host === "" ? searchParams.get("host") ?? "localhost" : host}${pathname}`
}
