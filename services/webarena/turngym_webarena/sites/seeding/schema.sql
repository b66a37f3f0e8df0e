-- One world: a catalogue, its customers and orders, and what the back office keeps. Money is in cents, times are ISO 8601
-- without a zone, as the shop's clock shows them.
CREATE TABLE clock (start TEXT NOT NULL, ticks INTEGER NOT NULL);
CREATE TABLE visitor (customer_id INTEGER, admin TEXT);  -- who is signed in to the shop, and to the back office

CREATE TABLE category (
  id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES category, level INTEGER NOT NULL, name TEXT NOT NULL,
  path TEXT NOT NULL UNIQUE
);
CREATE TABLE product (
  id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, type TEXT NOT NULL, parent_id INTEGER REFERENCES product,
  category_id INTEGER NOT NULL REFERENCES category, attribute_set TEXT NOT NULL, name TEXT NOT NULL,
  slug TEXT NOT NULL UNIQUE, brand TEXT NOT NULL, price INTEGER NOT NULL, qty INTEGER NOT NULL,
  in_stock INTEGER NOT NULL, status INTEGER NOT NULL, visible INTEGER NOT NULL, sale INTEGER NOT NULL,
  color TEXT NOT NULL, size TEXT NOT NULL, description TEXT NOT NULL, position INTEGER NOT NULL
);
CREATE INDEX product_category ON product (category_id);
CREATE INDEX product_parent ON product (parent_id);

CREATE TABLE customer (
  id INTEGER PRIMARY KEY, firstname TEXT NOT NULL, lastname TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
  password TEXT NOT NULL, customer_group TEXT NOT NULL, created_at TEXT NOT NULL, newsletter INTEGER NOT NULL,
  billing_id INTEGER, shipping_id INTEGER
);
CREATE TABLE address (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer, firstname TEXT NOT NULL,
  lastname TEXT NOT NULL, street TEXT NOT NULL, street2 TEXT NOT NULL, city TEXT NOT NULL, region TEXT NOT NULL,
  postcode TEXT NOT NULL, country TEXT NOT NULL, telephone TEXT NOT NULL
);
CREATE INDEX address_customer ON address (customer_id);
CREATE TABLE review (
  id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, customer_id INTEGER REFERENCES customer,
  nickname TEXT NOT NULL, title TEXT NOT NULL, detail TEXT NOT NULL, rating INTEGER NOT NULL, status INTEGER NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX review_product ON review (product_id);
CREATE INDEX review_customer ON review (customer_id);
CREATE INDEX review_status ON review (status);

CREATE TABLE sales_order (
  id INTEGER PRIMARY KEY, increment_id TEXT NOT NULL UNIQUE, customer_id INTEGER NOT NULL REFERENCES customer,
  status TEXT NOT NULL, created_at TEXT NOT NULL, subtotal INTEGER NOT NULL, shipping INTEGER NOT NULL,
  discount INTEGER NOT NULL, coupon TEXT NOT NULL, grand_total INTEGER NOT NULL, shipping_method TEXT NOT NULL,
  payment_method TEXT NOT NULL
);
CREATE INDEX sales_order_customer ON sales_order (customer_id);
CREATE INDEX sales_order_status ON sales_order (status, created_at);
CREATE INDEX sales_order_created ON sales_order (created_at);
CREATE TABLE order_item (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES sales_order, product_id INTEGER NOT NULL, name TEXT NOT NULL,
  sku TEXT NOT NULL, options TEXT NOT NULL, price INTEGER NOT NULL, qty INTEGER NOT NULL
);
CREATE INDEX order_item_order ON order_item (order_id);
CREATE INDEX order_item_product ON order_item (product_id);
CREATE TABLE order_address (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES sales_order, kind TEXT NOT NULL, firstname TEXT NOT NULL,
  lastname TEXT NOT NULL, street TEXT NOT NULL, street2 TEXT NOT NULL, city TEXT NOT NULL, region TEXT NOT NULL,
  postcode TEXT NOT NULL, country TEXT NOT NULL, telephone TEXT NOT NULL
);
CREATE INDEX order_address_order ON order_address (order_id);
CREATE TABLE order_comment (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES sales_order, created_at TEXT NOT NULL, status TEXT NOT NULL,
  comment TEXT NOT NULL, notified INTEGER NOT NULL
);
CREATE INDEX order_comment_order ON order_comment (order_id);
CREATE TABLE invoice (
  id INTEGER PRIMARY KEY, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
  created_at TEXT NOT NULL, grand_total INTEGER NOT NULL
);
CREATE INDEX invoice_order ON invoice (order_id);
CREATE TABLE shipment (
  id INTEGER PRIMARY KEY, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
  created_at TEXT NOT NULL
);
CREATE INDEX shipment_order ON shipment (order_id);
CREATE TABLE track (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES sales_order, created_at TEXT NOT NULL, carrier TEXT NOT NULL,
  number TEXT NOT NULL
);
CREATE INDEX track_order ON track (order_id);
CREATE TABLE creditmemo (
  id INTEGER PRIMARY KEY, increment_id TEXT NOT NULL UNIQUE, order_id INTEGER NOT NULL REFERENCES sales_order,
  created_at TEXT NOT NULL, grand_total INTEGER NOT NULL
);
CREATE INDEX creditmemo_order ON creditmemo (order_id);

CREATE TABLE cart_item (
  id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER NOT NULL REFERENCES product, options TEXT NOT NULL,
  qty INTEGER NOT NULL
);
CREATE TABLE checkout (customer_id INTEGER, address_id INTEGER, shipping_method TEXT NOT NULL);
CREATE TABLE wishlist_item (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, product_id INTEGER NOT NULL REFERENCES product, comment TEXT NOT NULL,
  qty INTEGER NOT NULL, added_at TEXT NOT NULL
);
CREATE TABLE contact_message (
  id INTEGER PRIMARY KEY, created_at TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL, telephone TEXT NOT NULL,
  message TEXT NOT NULL
);
CREATE TABLE subscriber (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
CREATE TABLE search_term (
  id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, results INTEGER NOT NULL, uses INTEGER NOT NULL
);
CREATE TABLE product_view (product_id INTEGER NOT NULL REFERENCES product, month TEXT NOT NULL, views INTEGER NOT NULL);
CREATE TABLE cms_page (
  id INTEGER PRIMARY KEY, title TEXT NOT NULL, heading TEXT NOT NULL, identifier TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL, active INTEGER NOT NULL
);
CREATE TABLE price_rule (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, active INTEGER NOT NULL, website TEXT NOT NULL,
  customer_groups TEXT NOT NULL, coupon TEXT NOT NULL, simple_action TEXT NOT NULL, discount_amount TEXT NOT NULL,
  from_date TEXT NOT NULL, to_date TEXT NOT NULL
);
CREATE TABLE theme (id INTEGER PRIMARY KEY, title TEXT NOT NULL, parent TEXT NOT NULL, path TEXT NOT NULL);
