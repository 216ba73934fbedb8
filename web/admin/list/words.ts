/** Texts of the columns of a list, in each language. */

import type { Loose } from "../messages/en.ts"
import type { Language } from "../messages/locale.tsx"

const en = {
  sortAscending: "Sort ascending",
  sortDescending: "Sort descending",
  addSort: "Then sort by this",
  unsort: "Do not sort by this",
  noOrder: "Values of this kind have no order.",
  notSortable: "Lists cannot be sorted by this field: it is not declared sortable.",
  pin: "Pin",
  unpin: "Unpin",
  hide: "Hide column",
  widthAuto: "Fit the width",
  statistics: "Statistics",
  values: "Most frequent",
  distribution: "Distribution",
  overTime: "Over time",
  noValue: "empty"
}

export type ColumnWords = Loose<typeof en>

export const columnWords: Readonly<Record<Language, ColumnWords>> = {
  en,
  de: {
    sortAscending: "Aufsteigend sortieren",
    sortDescending: "Absteigend sortieren",
    addSort: "Zusätzlich danach sortieren",
    unsort: "Nicht danach sortieren",
    noOrder: "Werte dieser Art haben keine Reihenfolge.",
    notSortable: "Nach diesem Feld lässt sich nicht sortieren: Es ist nicht als sortierbar deklariert.",
    pin: "Anheften",
    unpin: "Lösen",
    hide: "Spalte ausblenden",
    widthAuto: "Breite anpassen",
    statistics: "Statistik",
    values: "Am häufigsten",
    distribution: "Verteilung",
    overTime: "Zeitverlauf",
    noValue: "leer"
  },
  es: {
    sortAscending: "Orden ascendente",
    sortDescending: "Orden descendente",
    addSort: "Ordenar después por esta columna",
    unsort: "No ordenar por esta columna",
    noOrder: "Los valores de este tipo no tienen orden.",
    notSortable: "No se puede ordenar por este campo: no está declarado como ordenable.",
    pin: "Fijar",
    unpin: "Soltar",
    hide: "Ocultar la columna",
    widthAuto: "Ajustar el ancho",
    statistics: "Estadísticas",
    values: "Más frecuentes",
    distribution: "Distribución",
    overTime: "A lo largo del tiempo",
    noValue: "vacío"
  },
  fr: {
    sortAscending: "Tri croissant",
    sortDescending: "Tri décroissant",
    addSort: "Trier ensuite par cette colonne",
    unsort: "Ne pas trier par cette colonne",
    noOrder: "Les valeurs de ce type n’ont pas d’ordre.",
    notSortable: "Impossible de trier par ce champ, car il n’est pas déclaré triable.",
    pin: "Épingler",
    unpin: "Détacher",
    hide: "Masquer la colonne",
    widthAuto: "Ajuster la largeur",
    statistics: "Statistiques",
    values: "Les plus fréquentes",
    distribution: "Répartition",
    overTime: "Dans le temps",
    noValue: "vide"
  },
  ar: {
    sortAscending: "ترتيب تصاعدي",
    sortDescending: "ترتيب تنازلي",
    addSort: "ثم الترتيب حسب هذا",
    unsort: "عدم الترتيب حسب هذا",
    noOrder: "ليس لقيم هذا النوع ترتيب.",
    notSortable: "لا يمكن الترتيب حسب هذا الحقل لأنه غير معرَّف قابلًا للترتيب.",
    pin: "تثبيت",
    unpin: "إلغاء التثبيت",
    hide: "إخفاء العمود",
    widthAuto: "ملاءمة العرض",
    statistics: "إحصاءات",
    values: "الأكثر تكرارًا",
    distribution: "التوزيع",
    overTime: "عبر الزمن",
    noValue: "فارغ"
  }
}
