/** Makes tables that are asked for names which models, servers, pages and commands choose. */

/** The same entries, and nothing under names such as `constructor` or `__proto__` that every object inherits. */
export const lookup = <A>(entries: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  Object.assign(Object.create(null), entries)
