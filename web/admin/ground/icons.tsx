/** The icons that a view may name in `nav.icon`, and those of the app itself. An unknown name gets a plain one. */

import {
  Armchair,
  BadgeCheck,
  Banknote,
  Bell,
  BookOpen,
  Box,
  Building2,
  Calendar,
  ChartColumn,
  CircleDot,
  ClipboardList,
  CreditCard,
  FileText,
  Flag,
  Folder,
  Globe,
  Heart,
  History,
  House,
  Image,
  Inbox,
  type LucideIcon,
  Mail,
  Map as MapIcon,
  MessageSquare,
  Package,
  Receipt,
  Settings,
  ShoppingCart,
  Star,
  Store,
  Tag,
  Truck,
  User,
  Users,
  Warehouse,
  Wrench
} from "lucide-react"
import type { ReactNode } from "react"

const icons: ReadonlyMap<string, LucideIcon> = new Map(Object.entries({
  badge: BadgeCheck,
  bell: Bell,
  book: BookOpen,
  box: Box,
  building: Building2,
  calendar: Calendar,
  card: CreditCard,
  cart: ShoppingCart,
  chair: Armchair,
  chart: ChartColumn,
  chat: MessageSquare,
  file: FileText,
  flag: Flag,
  folder: Folder,
  globe: Globe,
  heart: Heart,
  history: History,
  home: House,
  image: Image,
  inbox: Inbox,
  list: ClipboardList,
  mail: Mail,
  map: MapIcon,
  money: Banknote,
  package: Package,
  people: Users,
  person: User,
  receipt: Receipt,
  settings: Settings,
  shop: Store,
  star: Star,
  tag: Tag,
  tool: Wrench,
  truck: Truck,
  warehouse: Warehouse
}))

/** Names that views may use. */
export const iconNames: readonly string[] = [...icons.keys()]

export const Icon = ({ name }: { readonly name: string | null }): ReactNode => {
  const Found = (name === null ? undefined : icons.get(name)) ?? CircleDot
  return <Found className="icon" aria-hidden="true" />
}
