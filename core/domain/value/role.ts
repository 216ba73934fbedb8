/** The text in which an account or a token keeps its roles, and the role that every service has. It never decides what a role may do: that is access. */

/** May do everything, and looks after accounts. */
export const adminRole = "admin"

/** The roles in a stored or signed text: comma-separated, in their order, each once. */
export const rolesOf = (text: string): readonly string[] => [
  ...new Set(text.split(",").map((role) => role.trim()).filter((role) => role !== ""))
]
