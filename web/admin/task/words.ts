/** Texts of bulk changes and imports, in each language. */

import { type Loose, noun } from "../messages/en.ts"
import type { Language } from "../messages/locale.tsx"

const en = {
  states: {
    uploading: "uploading",
    uploaded: "waiting for you",
    checking: "checking",
    checked: "checked",
    running: "running",
    completed: "done",
    cancelled: "cancelled",
    failed: "ended early"
  },
  progress: (done: string, all: string): string => `${done} of ${all}`,
  counts: (written: string, refused: string, same: string): string =>
    `${written} written · ${refused} refused · ${same} needed no change`,
  would: (written: string, refused: string): string => `${written} would be written · ${refused} would be refused`,
  refused: (count: string): string => `${count} refused`,
  firstOnly: (count: string): string => `The first ${count} are shown.`,
  moreReported: "The report has more.",
  line: "Line",
  record: "Record",
  column: "Column",
  field: "Field",
  message: "What is wrong",
  cancel: "Stop after this batch",
  drop: "Discard the file",
  report: "Download the report",
  check: "Check",
  applyAll: {
    update: (count: string): string => `Change ${count}`,
    delete: (count: string): string => `Delete ${count}`,
    undelete: (count: string): string => `Bring back ${count}`
  },
  matching: (total: number, shown: string): string => total === 1 ? "1 record matches." : `${shown} records match.`,
  tried: (tried: number, shown: string): string =>
    `${tried === 1 ? "Only the first was" : `Only the first ${shown} were`} tried. Nothing was written.`,
  triedAll: "All were tried. Nothing was written.",
  none: "No record matches any more.",
  background: "It goes on in the background, also when you leave this page.",
  close: "Close",
  tasks: "Your tasks",
  noTasks: "No tasks yet",
  noTasksText: "Imports and changes of all records that match are listed here for seven days.",
  what: "What",
  state: "State",
  started: "Started",
  bulk: {
    update: (plural: string): string => `Change ${noun(plural)}`,
    delete: (plural: string): string => `Delete ${noun(plural)}`,
    undelete: (plural: string): string => `Bring back ${noun(plural)}`
  },
  importOf: (plural: string): string => `Import ${noun(plural)}`,
  choose: "Choose a file",
  chooseText:
    "A table as CSV whose first line names the columns, or one JSON object a line (.ndjson). Nothing is written before you start.",
  uploading: "Uploading and reading the file…",
  sample: "First values",
  leaveOut: "Leave out",
  goesTo: "Goes to",
  mode: "What to do with the lines",
  modes: {
    create: "Add each as a new record",
    update: "Change records that are there",
    upsert: "Change those that are there, add the others"
  },
  match: "Find records by",
  onError: "When a line is refused",
  errors: { stop: "Stop before its batch", skip: "Leave it out and go on" },
  checkAll: "Check all lines",
  start: (count: number, shown: string): string => `Import ${shown} ${count === 1 ? "line" : "lines"}`,
  another: "Import another file",
  back: (plural: string): string => `Back to ${noun(plural)}`
}

export type TaskWords = Loose<typeof en>

export const words: Readonly<Record<Language, TaskWords>> = {
  en,
  de: {
    states: {
      uploading: "wird hochgeladen",
      uploaded: "wartet auf Sie",
      checking: "wird geprüft",
      checked: "geprüft",
      running: "läuft",
      completed: "fertig",
      cancelled: "abgebrochen",
      failed: "vorzeitig beendet"
    },
    progress: (done, all) => `${done} von ${all}`,
    counts: (written, refused, same) => `${written} geschrieben · ${refused} abgelehnt · ${same} unverändert`,
    would: (written, refused) => `${written} würden geschrieben · ${refused} würden abgelehnt`,
    refused: (count) => `${count} abgelehnt`,
    firstOnly: (count) => `Die ersten ${count} werden gezeigt.`,
    moreReported: "Der Bericht hat mehr.",
    line: "Zeile",
    record: "Datensatz",
    column: "Spalte",
    field: "Feld",
    message: "Problem",
    cancel: "Nach diesem Stapel anhalten",
    drop: "Datei verwerfen",
    report: "Bericht herunterladen",
    check: "Prüfen",
    applyAll: {
      update: (count) => `${count} ändern`,
      delete: (count) => `${count} löschen`,
      undelete: (count) => `${count} zurückholen`
    },
    matching: (total, shown) => total === 1 ? "1 Datensatz passt." : `${shown} Datensätze passen.`,
    tried: (tried, shown) =>
      `${tried === 1 ? "Nur der erste wurde" : `Nur die ersten ${shown} wurden`} geprüft. Geschrieben wurde nichts.`,
    triedAll: "Alle wurden geprüft. Geschrieben wurde nichts.",
    none: "Es passt kein Datensatz mehr.",
    background: "Es läuft im Hintergrund weiter, auch wenn Sie diese Seite verlassen.",
    close: "Schließen",
    tasks: "Ihre Aufgaben",
    noTasks: "Noch keine Aufgaben",
    noTasksText: "Importe und Änderungen aller passenden Datensätze stehen hier sieben Tage lang.",
    what: "Aufgabe",
    state: "Stand",
    started: "Begonnen",
    bulk: {
      update: (plural) => `${plural} ändern`,
      delete: (plural) => `${plural} löschen`,
      undelete: (plural) => `${plural} zurückholen`
    },
    importOf: (plural) => `${plural} importieren`,
    choose: "Datei wählen",
    chooseText:
      "Eine CSV-Tabelle, deren erste Zeile die Spalten benennt, oder ein JSON-Objekt je Zeile (.ndjson). Vor dem Start wird nichts geschrieben.",
    uploading: "Die Datei wird hochgeladen und gelesen …",
    sample: "Erste Werte",
    leaveOut: "Weglassen",
    goesTo: "Zielfeld",
    mode: "Was mit den Zeilen geschieht",
    modes: {
      create: "Jede als neuen Datensatz anlegen",
      update: "Vorhandene Datensätze ändern",
      upsert: "Vorhandene ändern, die anderen anlegen"
    },
    match: "Datensätze finden über",
    onError: "Wenn eine Zeile abgelehnt wird",
    errors: { stop: "Vor ihrem Stapel anhalten", skip: "Weglassen und weitermachen" },
    checkAll: "Alle Zeilen prüfen",
    start: (count, shown) => `${shown} ${count === 1 ? "Zeile" : "Zeilen"} importieren`,
    another: "Weitere Datei importieren",
    back: (plural) => `Zurück zu ${plural}`
  },
  fr: {
    states: {
      uploading: "en cours d’envoi",
      uploaded: "en attente de votre choix",
      checking: "en vérification",
      checked: "vérifié",
      running: "en cours",
      completed: "terminé",
      cancelled: "annulé",
      failed: "arrêté avant la fin"
    },
    progress: (done, all) => `${done} sur ${all}`,
    counts: (written, refused, same) => `Écrites : ${written} · refusées : ${refused} · inchangées : ${same}`,
    would: (written, refused) => `À écrire : ${written} · à refuser : ${refused}`,
    refused: (count) => `Refusées : ${count}`,
    firstOnly: (count) => `Les ${count} premières sont affichées.`,
    moreReported: "Le rapport en contient davantage.",
    line: "Ligne",
    record: "Fiche",
    column: "Colonne",
    field: "Champ",
    message: "Problème",
    cancel: "Arrêter après ce lot",
    drop: "Abandonner le fichier",
    report: "Télécharger le rapport",
    check: "Vérifier",
    applyAll: {
      update: (count) => `Modifier ${count}`,
      delete: (count) => `Supprimer ${count}`,
      undelete: (count) => `Rétablir ${count}`
    },
    matching: (total, shown) => total < 2 ? `${shown} fiche correspond.` : `${shown} fiches correspondent.`,
    tried: (tried, shown) =>
      `${
        tried < 2 ? "Seule la première a été vérifiée" : `Seules les ${shown} premières ont été vérifiées`
      }. Rien n’a été écrit.`,
    triedAll: "Toutes ont été vérifiées. Rien n’a été écrit.",
    none: "Plus aucune fiche ne correspond.",
    background: "Cela continue en arrière-plan, même si vous quittez cette page.",
    close: "Fermer",
    tasks: "Vos traitements",
    noTasks: "Aucun traitement",
    noTasksText: "Les imports et les modifications de toutes les fiches trouvées restent ici sept jours.",
    what: "Traitement",
    state: "État",
    started: "Début",
    bulk: {
      update: (plural) => `Modifier : ${noun(plural)}`,
      delete: (plural) => `Supprimer : ${noun(plural)}`,
      undelete: (plural) => `Rétablir : ${noun(plural)}`
    },
    importOf: (plural) => `Importer : ${noun(plural)}`,
    choose: "Choisir un fichier",
    chooseText:
      "Un tableau CSV dont la première ligne nomme les colonnes, ou un objet JSON par ligne (.ndjson). Rien n’est écrit avant le démarrage.",
    uploading: "Envoi et lecture du fichier…",
    sample: "Premières valeurs",
    leaveOut: "Ignorer",
    goesTo: "Champ cible",
    mode: "Que faire des lignes",
    modes: {
      create: "Ajouter chacune comme nouvelle fiche",
      update: "Modifier les fiches existantes",
      upsert: "Modifier les fiches existantes, ajouter les autres"
    },
    match: "Trouver les fiches par",
    onError: "Quand une ligne est refusée",
    errors: { stop: "Arrêter avant son lot", skip: "L’ignorer et continuer" },
    checkAll: "Vérifier toutes les lignes",
    start: (count, shown) => `Importer ${shown} ${count < 2 ? "ligne" : "lignes"}`,
    another: "Importer un autre fichier",
    back: (plural) => `Retour : ${plural}`
  },
  es: {
    states: {
      uploading: "subiendo",
      uploaded: "espera su decisión",
      checking: "comprobando",
      checked: "comprobado",
      running: "en curso",
      completed: "terminado",
      cancelled: "cancelado",
      failed: "terminado antes de tiempo"
    },
    progress: (done, all) => `${done} de ${all}`,
    counts: (written, refused, same) => `Escritos: ${written} · rechazados: ${refused} · sin cambios: ${same}`,
    would: (written, refused) => `Se escribirían: ${written} · se rechazarían: ${refused}`,
    refused: (count) => `Rechazados: ${count}`,
    firstOnly: (count) => `Se muestran los primeros ${count}.`,
    moreReported: "El informe tiene más.",
    line: "Línea",
    record: "Registro",
    column: "Columna",
    field: "Campo",
    message: "Problema",
    cancel: "Parar después de este lote",
    drop: "Descartar el archivo",
    report: "Descargar el informe",
    check: "Comprobar",
    applyAll: {
      update: (count) => `Cambiar ${count}`,
      delete: (count) => `Eliminar ${count}`,
      undelete: (count) => `Recuperar ${count}`
    },
    matching: (total, shown) => total === 1 ? "1 registro coincide." : `${shown} registros coinciden.`,
    tried: (tried, shown) =>
      `${
        tried === 1 ? "Solo se ha comprobado el primero" : `Solo se han comprobado los primeros ${shown}`
      }. No se ha escrito nada.`,
    triedAll: "Se han comprobado todos. No se ha escrito nada.",
    none: "Ya no coincide ningún registro.",
    background: "Sigue en segundo plano, también si deja esta página.",
    close: "Cerrar",
    tasks: "Sus procesos",
    noTasks: "Todavía no hay procesos",
    noTasksText:
      "Las importaciones y los cambios de todos los registros que coinciden se muestran aquí durante siete días.",
    what: "Proceso",
    state: "Estado",
    started: "Inicio",
    bulk: {
      update: (plural) => `Cambiar ${noun(plural)}`,
      delete: (plural) => `Eliminar ${noun(plural)}`,
      undelete: (plural) => `Recuperar ${noun(plural)}`
    },
    importOf: (plural) => `Importar ${noun(plural)}`,
    choose: "Elegir un archivo",
    chooseText:
      "Una tabla CSV cuya primera línea nombra las columnas, o un objeto JSON por línea (.ndjson). No se escribe nada antes de empezar.",
    uploading: "Subiendo y leyendo el archivo…",
    sample: "Primeros valores",
    leaveOut: "Omitir",
    goesTo: "Campo de destino",
    mode: "Qué hacer con las líneas",
    modes: {
      create: "Añadir cada una como registro nuevo",
      update: "Cambiar registros que existen",
      upsert: "Cambiar los que existen y añadir los demás"
    },
    match: "Buscar registros por",
    onError: "Cuando se rechaza una línea",
    errors: { stop: "Parar antes de su lote", skip: "Omitirla y seguir" },
    checkAll: "Comprobar todas las líneas",
    start: (count, shown) => `Importar ${shown} ${count === 1 ? "línea" : "líneas"}`,
    another: "Importar otro archivo",
    back: (plural) => `Volver a ${noun(plural)}`
  },
  ar: {
    states: {
      uploading: "قيد الرفع",
      uploaded: "بانتظارك",
      checking: "قيد الفحص",
      checked: "تم الفحص",
      running: "جارٍ",
      completed: "تم",
      cancelled: "أُلغي",
      failed: "انتهى مبكرًا"
    },
    progress: (done, all) => `${done} من ${all}`,
    counts: (written, refused, same) => `المكتوبة: ${written} · المرفوضة: ${refused} · دون تغيير: ${same}`,
    would: (written, refused) => `ستُكتب: ${written} · ستُرفض: ${refused}`,
    refused: (count) => `المرفوضة: ${count}`,
    firstOnly: (count) => `المعروض هنا: أول ${count}.`,
    moreReported: "في التقرير المزيد.",
    line: "السطر",
    record: "السجل",
    column: "العمود",
    field: "الحقل",
    message: "المشكلة",
    cancel: "التوقف بعد هذه الدفعة",
    drop: "تجاهل الملف",
    report: "تنزيل التقرير",
    check: "فحص",
    applyAll: {
      update: (count) => `تغيير ${count}`,
      delete: (count) => `حذف ${count}`,
      undelete: (count) => `استعادة ${count}`
    },
    matching: (_, shown) => `السجلات المطابقة: ${shown}.`,
    tried: (_, shown) => `فُحص منها فقط: ${shown}. لم يُكتب شيء.`,
    triedAll: "فُحصت كلها. لم يُكتب شيء.",
    none: "لم يعد أي سجل مطابقًا.",
    background: "يستمر العمل في الخلفية حتى لو غادرت هذه الصفحة.",
    close: "إغلاق",
    tasks: "عملياتك",
    noTasks: "لا عمليات بعد",
    noTasksText: "تبقى عمليات الاستيراد وتغييرات كل السجلات المطابقة هنا سبعة أيام.",
    what: "العملية",
    state: "الحالة",
    started: "البداية",
    bulk: {
      update: (plural) => `تغيير ${plural}`,
      delete: (plural) => `حذف ${plural}`,
      undelete: (plural) => `استعادة ${plural}`
    },
    importOf: (plural) => `استيراد ${plural}`,
    choose: "اختيار ملف",
    chooseText: "جدول CSV يسمي سطره الأول الأعمدة، أو كائن JSON في كل سطر (.ndjson). لا يُكتب شيء قبل البدء.",
    uploading: "جارٍ رفع الملف وقراءته…",
    sample: "أول القيم",
    leaveOut: "تجاهل",
    goesTo: "الحقل الهدف",
    mode: "ماذا يُفعل بالأسطر",
    modes: {
      create: "إضافة كل سطر سجلًا جديدًا",
      update: "تغيير السجلات الموجودة",
      upsert: "تغيير الموجود وإضافة الباقي"
    },
    match: "إيجاد السجلات حسب",
    onError: "عند رفض سطر",
    errors: { stop: "التوقف قبل دفعته", skip: "تجاهله والمتابعة" },
    checkAll: "فحص كل الأسطر",
    start: (_, shown) => `استيراد الأسطر (${shown})`,
    another: "استيراد ملف آخر",
    back: (plural) => `العودة إلى ${plural}`
  }
}
