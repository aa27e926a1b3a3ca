//! Items that one file of Rust defines and names, read by `syn`. Tests are left out.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, Stmt, Token, TraitItem, UseTree, Visibility};

/// The parts of a path, such as `crate`, `env` and `Real`. A macro's name ends with `!`.
pub type Names = Vec<String>;

/// A name that a module imports: its path as written, the name here, and whether others may import it from here.
pub struct Import {
    pub path: Names,
    pub name: String,
    pub public: bool,
}

/// A module: a file, or a part of one in braces.
#[derive(Default)]
pub struct Module {
    pub path: Names,
    pub defined: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Paths outside of `use`.
    pub named: Vec<Names>,
}

/// A file: its modules, its own first; the modules that it declares as other files; the macros of the whole crate.
#[derive(Default)]
pub struct Source {
    pub modules: Vec<Module>,
    pub children: Vec<Names>,
    pub exported: BTreeSet<String>,
}

impl Source {
    /// Reads the text of a module's file.
    pub fn read(module: &[String], text: &str) -> syn::Result<Source> {
        let mut reader = Reader { source: Source::default(), at: 0, blocks: 0 };
        reader.source.modules.push(Module { path: module.to_vec(), ..Module::default() });
        reader.visit_file(&syn::parse_file(text)?);
        Ok(reader.source)
    }
}

struct Reader {
    source: Source,
    /// The module that is read.
    at: usize,
    /// The number of blocks around: what these define has no path.
    blocks: usize,
}

impl Reader {
    fn module(&mut self) -> &mut Module {
        &mut self.source.modules[self.at]
    }

    fn import(&mut self, tree: &UseTree, mut path: Names, public: bool) {
        let (last, name) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.import(&part.tree, path, public);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, path.clone(), public));
            }
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
            UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
        };
        let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        path.extend(Some(last).filter(|last| last != "self"));
        self.module().imports.push(Import { path, name, public });
    }

    /// The paths in a macro's tokens: `crate::a::{B, c}` has two.
    fn tokens(&mut self, tokens: TokenStream, before: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mark = |at: usize, mark: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == mark);
        let (mut path, mut begins) = (before.to_vec(), true);
        for (at, token) in tokens.iter().enumerate() {
            let joined = mark(at + 1, ':') && mark(at + 2, ':');
            match token {
                TokenTree::Ident(name) if begins => {
                    path.push(name.to_string());
                    if !joined {
                        let path = std::mem::replace(&mut path, before.to_vec());
                        let last = path.len() - 1;
                        let called = mark(at + 1, '!') && !mark(at + 2, '=');
                        let names = path.into_iter().enumerate();
                        let path: Names =
                            names.map(|(i, name)| if called && i == last { name + "!" } else { name }).collect();
                        self.module().named.extend(Some(path).filter(|path| path.len() > 1 || called));
                    }
                }
                TokenTree::Group(group) => {
                    let list = path.len() > before.len() && group.delimiter() == Delimiter::Brace;
                    let path = std::mem::replace(&mut path, before.to_vec());
                    self.tokens(group.stream(), if list { &path } else { &[] });
                }
                TokenTree::Punct(p) if p.as_char() == ':' => {}
                _ => path = before.to_vec(),
            }
            // A field, a lifetime and a macro's variable are no beginnings of paths; `$crate` is one.
            let of_crate = matches!(tokens.get(at + 1), Some(TokenTree::Ident(name)) if name == "crate");
            begins = !(mark(at, '.') && !mark(at.wrapping_sub(1), '.') || mark(at, '\'') || mark(at, '$') && !of_crate);
        }
    }
}

/// Tells whether code is compiled only for tests.
fn for_tests(attributes: &[Attribute]) -> bool {
    fn possible(meta: &Meta) -> bool {
        let Meta::List(list) = meta else { return !meta.path().is_ident("test") };
        let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
        match list.path.get_ident() {
            Some(word) if word == "all" => parts.iter().all(possible),
            Some(word) if word == "any" => parts.iter().any(possible),
            _ => true,
        }
    }
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).any(|meta| !possible(&meta))
}

/// The name that an item defines, and its attributes.
fn head(item: &Item) -> (Option<String>, &[Attribute]) {
    match item {
        Item::Const(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Enum(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Fn(item) => (Some(item.sig.ident.to_string()), &item.attrs),
        Item::Macro(item) => (item.ident.as_ref().map(|name| format!("{name}!")), &item.attrs),
        Item::Static(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Struct(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Trait(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Type(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Union(item) => (Some(item.ident.to_string()), &item.attrs),
        Item::Impl(item) => (None, &item.attrs),
        Item::Mod(item) => (None, &item.attrs),
        Item::Use(item) => (None, &item.attrs),
        _ => (None, &[]),
    }
}

/// The items that the tokens of a macro define, as `settings!` does.
fn defined_in(tokens: TokenStream) -> impl Iterator<Item = String> {
    const KINDS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];
    let mut kind = false;
    tokens.into_iter().filter_map(move |token| {
        let TokenTree::Ident(word) = token else { return None };
        let word = word.to_string();
        let name = std::mem::replace(&mut kind, KINDS.contains(&word.as_str()));
        name.then_some(word)
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (name, attributes) = head(item);
        if for_tests(attributes) {
            return;
        }
        let own = self.blocks == 0;
        self.module().defined.extend(name.clone().filter(|_| own));
        match item {
            Item::Use(item) => {
                let public = !matches!(item.vis, Visibility::Inherited);
                if item.leading_colon.is_none() {
                    self.import(&item.tree, Names::new(), public);
                }
            }
            Item::Mod(item) => {
                let path = [&self.module().path[..], &[item.ident.to_string()]].concat();
                let Some((_, items)) = &item.content else { return self.source.children.push(path) };
                let outer = std::mem::replace(&mut self.at, self.source.modules.len());
                self.source.modules.push(Module { path, ..Module::default() });
                items.iter().for_each(|item| self.visit_item(item));
                self.at = outer;
            }
            Item::Macro(item) => {
                if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
                    self.source.exported.extend(name);
                } else if name.is_none() && own {
                    self.module().defined.extend(defined_in(item.mac.tokens.clone()));
                }
                self.visit_macro(&item.mac);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if !matches!(item, TraitItem::Fn(item) if for_tests(&item.attrs)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if !matches!(statement, Stmt::Local(local) if for_tests(&local.attrs)) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.blocks += 1;
        visit::visit_block(self, block);
        self.blocks -= 1;
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.module().named.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let mut path: Names = mac.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        path.iter_mut().last().into_iter().for_each(|name| name.push('!'));
        self.module().named.push(path);
        self.tokens(mac.tokens.clone(), &[]);
    }
}
