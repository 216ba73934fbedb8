/**
 * Sixty questions in the styles of PostgREST's and Hasura's documentation, put to the database of `cinema.sql`. Each is one request here. `answer` is a part of
 * the body, and it has every item of a list in its order.
 */

export interface Question {
  /** How it is asked there. */
  readonly there: string
  /** The request here; its query is written plainly. */
  readonly ask: string
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  readonly status?: number
  readonly answer: unknown
}

const titles = (...names: readonly string[]) => ({ items: names.map((title) => ({ title })) })
const names = (...all: readonly string[]) => ({ items: all.map((name) => ({ name })) })

const cleo = "Cleo from 5 to 7"
const samurai = "Seven Samurai"

/** Reads, as PostgREST's pages on tables, operators, embedding and aggregates ask them. */
export const postgrest: readonly Question[] = [
  {
    there: "/films?select=title&year=eq.1985&order=title",
    ask: "films?fields=title&filter=year = 1985&order_by=title",
    answer: titles("Ran", "Vagabond")
  },
  {
    there: "/films?year=gte.1962&year=lt.1993&select=title,year&order=year.asc,title.desc",
    ask: "films?fields=title,year&filter=year >= 1962 AND year < 1993&order_by=year, title desc",
    answer: titles(cleo, "Vagabond", "Ran")
  },
  {
    there: "/films?or=(year.eq.1954,rating.lt.7.6)&order=id",
    ask: "films?filter=year = 1954 OR rating < 7.6&order_by=id",
    answer: titles(samurai, "The Piano")
  },
  {
    there: "/films?status=not.in.(released,planned)",
    ask: "films?filter=NOT in(status, released, planned)",
    answer: titles("Running Late")
  },
  {
    there: "/films?title=like.R*&order=title",
    ask: "films?filter=title = \"R*\"&order_by=title",
    answer: titles("Ran", "Running Late")
  },
  { there: "/films?title=ilike.*SEVEN*", ask: "films?filter=title:SEVEN", answer: titles(samurai) },
  { there: "/films?title=match.^The", ask: "films?filter=regex(title, '^The')", answer: titles("The Piano") },
  {
    there: "/films?rating=is.null&order=id",
    ask: "films?filter=rating = null&order_by=id",
    answer: titles("Running Late", "A Quiet Plan")
  },
  {
    there: "/films?order=rating.desc.nullslast&limit=2",
    ask: "films?filter=rating:*&order_by=rating desc&page_size=2",
    answer: titles(samurai, "Ran")
  },
  {
    there: "/films?limit=2&offset=4&order=id",
    ask: "films:seek?position=4&page_size=2&order_by=id",
    answer: titles("The Piano", "Running Late")
  },
  {
    there: "HEAD /films?year=gt.1980 with Prefer: count=exact",
    ask: "films?filter=year > 1980&page_size=1&count=exact&fields=id",
    answer: { total_size: 5 }
  },
  {
    there: "/films?select=title,directors(last_name)&id=eq.3",
    ask: "films?fields=title,director.last_name&filter=id = 3",
    answer: { items: [{ title: samurai, expand: { director: { last_name: "Kurosawa" } } }] }
  },
  {
    there: "/directors?select=last_name,films(title)&films.order=year.desc&films.limit=1&id=eq.2",
    ask:
      "directors?fields=last_name&filter=id = 2&expand=films(fields: \"title\", order_by: \"year desc\", page_size: 1)",
    answer: { items: [{ last_name: "Kurosawa", expand: { films: { items: [{ title: "Ran" }], more: true } } }] }
  },
  {
    there: "/films?select=title,roles(character,actors(name))&id=eq.1",
    ask: "films?fields=title&filter=id = 1&expand=roles(fields: \"character\").actor(fields: \"name\")",
    answer: {
      items: [{
        title: cleo,
        expand: { roles: [{ character: "Cleo", expand: { actor: { name: "Corinne Marchand" } } }] }
      }]
    }
  },
  {
    there: "/films?select=title,directors!inner(last_name)&directors.last_name=eq.Varda&order=id",
    ask: "films?fields=title&filter=director.last_name = Varda&order_by=id",
    answer: titles(cleo, "Vagabond")
  },
  {
    there: "/directors?select=last_name,films()&films=is.null",
    ask: "directors?filter=NOT has(films)",
    answer: { items: [{ last_name: "Nobody" }] }
  },
  {
    there: "/films?select=title,screenings!inner()&screenings.sold=gt.200",
    ask: "films?fields=title&filter=screenings.sold > 200",
    answer: titles(samurai)
  },
  {
    there: "/films?select=title,roles(count)&order=id&limit=3",
    ask: "films?fields=title&order_by=id&page_size=3&expand=roles(count)",
    answer: {
      items: [{ expand: { roles: { count: 1 } } }, { expand: { roles: { count: 1 } } }, {
        expand: { roles: { count: 2 } }
      }]
    }
  },
  {
    there: "/films?select=year,count(),takings.sum()&year=eq.1985",
    ask: "films:aggregate?group_by=year&measures=count,sum(takings)&filter=year = 1985",
    answer: { groups: [{ group: { year: 1985 }, measures: { "count": 2, "sum(takings)": "19000000.00" } }] }
  },
  {
    there: "/films?select=rating.avg(),rating.max()",
    ask: "films:aggregate?measures=avg(rating),max(rating)",
    answer: { groups: [{ measures: { "avg(rating)": "7.96", "max(rating)": "8.6" } }] }
  },
  {
    there: "/actors?or=(films_made.gt.150,and(films_made.lt.60,name.like.Cor*))&order=id",
    ask: "actors?filter=films_made > 150 OR (films_made < 60 AND name = \"Cor*\")&order_by=id",
    answer: names("Corinne Marchand", "Takashi Shimura")
  },
  {
    there: "POST /actors with Prefer: return=representation",
    ask: "POST actors",
    body: { name: "Juliet Berto" },
    status: 201,
    answer: { name: "Juliet Berto", films_made: 0 }
  },
  {
    there: "PATCH /actors?films_made=lt.1",
    ask: "PATCH actors?filter=films_made < 1&expected_count=1",
    body: { films_made: 3 },
    answer: {}
  },
  {
    there: "PUT /employees?email=eq.ed@example.org",
    ask: "PATCH employees/ed@example.org?match=email&allow_missing=true",
    headers: { "if-match": "*" },
    body: { name: "Ed", salary: "3000.00", hired_on: "2026-01-01" },
    status: 201,
    answer: { name: "Ed", email: "ed@example.org" }
  },
  { there: "DELETE /employees?name=eq.Ed", ask: "DELETE employees?filter=name = Ed&expected_count=1", answer: {} }
]

/** The same in the words of Hasura's pages on queries and mutations. */
export const hasura: readonly Question[] = [
  {
    there: "films(where: {director: {born: {_lt: \"1920-01-01\"}}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=director.born < 1920-01-01&order_by=id",
    answer: titles(samurai, "Ran")
  },
  {
    there: "films(where: {roles: {actor: {name: {_ilike: \"%shimura%\"}}}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=roles.actor.name:shimura&order_by=id",
    answer: titles(samurai, "Ran")
  },
  {
    there: "films(where: {roles_aggregate: {count: {predicate: {_gte: 2}}}}) { title }",
    ask: "films?fields=title&filter=count(roles) >= 2",
    answer: titles(samurai)
  },
  {
    there: "films(where: {_not: {screenings: {}}, status: {_eq: \"released\"}}, order_by: {id: asc}) { title }",
    ask: "films?fields=title&filter=status = released AND NOT has(screenings)&order_by=id",
    answer: titles("Vagabond", "Ran")
  },
  {
    there: "films(where: {screenings: {room: {code: {_eq: \"B\"}}, sold: {_lt: 20}}}) { title }",
    ask: "films?fields=title&filter=has(screenings, \"room_code.code = B AND sold < 20\")",
    answer: titles("The Piano")
  },
  {
    there: "directors { last_name films_aggregate(where: {year: {_gt: 1980}}) { aggregate { count } } }",
    ask: "directors?fields=last_name&expand=films(count, filter: \"year > 1980\")&order_by=id&page_size=2",
    answer: { items: [{ expand: { films: { count: 1 } } }, { expand: { films: { count: 1 } } }] }
  },
  {
    there: "employees { name employees { name employees { name } } } of the top",
    ask:
      "employees?fields=name&filter=manager_id = null&expand=employees(depth: 2, fields: \"name\", order_by: \"name\")",
    answer: {
      items: [{
        name: "Ada",
        expand: { employees: [{ name: "Ben", expand: { employees: [{ name: "Cy" }] } }, { name: "Di" }] }
      }]
    }
  },
  {
    there: "films_aggregate { aggregate { count(columns: director_id, distinct: true) } }",
    ask: "films:aggregate?measures=count_distinct(director_id)",
    answer: { groups: [{ measures: { "count_distinct(director_id)": 3 } }] }
  },
  {
    there: "insert_films_one(object: {title: …, roles: {data: […]}})",
    ask: "POST films",
    body: { title: "Daisies", year: 1966, roles: [{ actor_id: 1, character: "Marie" }] },
    status: 201,
    answer: { title: "Daisies" }
  },
  {
    there: "update_actors_by_pk(pk_columns: {id: 2}, _inc: {films_made: 1}) { films_made }",
    ask: "PATCH actors/2",
    headers: { "if-match": "*" },
    body: { films_made: { $add: 1 } },
    answer: { films_made: 151 }
  },
  { there: "films_by_pk(id: 4) { title }", ask: "films/4?fields=title", answer: { title: "Ran" } },
  {
    there: "a view that sums takings by directors { last_name }",
    ask:
      "films:aggregate?group_by=director.last_name&measures=count,sum(takings)&order_by=sum(takings) desc&filter=takings:*&limit=2",
    answer: {
      groups: [{ group: { "director.last_name": "Campion" }, measures: { "sum(takings)": "140000000.00" } }, {
        group: { "director.last_name": "Kurosawa" },
        measures: { count: 2 }
      }]
    }
  },
  {
    there: "films(distinct_on: year) { year }",
    ask: "films:facets?field=year&limit=1",
    answer: { facets: [{ value: 1985, count: 2 }] }
  }
]
