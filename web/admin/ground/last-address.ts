/** The last address of each list in this tab: its filter, order and columns. Links to a list lead back to it. */

const lastAddress = new Map<string, string>()
export const keepAddress = (resource: string, search: string): void => void lastAddress.set(resource, search)
export const listAddress = (resource: string): string => `/${resource}${lastAddress.get(resource) ?? ""}`
